# SPDX-License-Identifier: Apache-2.0
# docker build --build-arg VERSION="$(git describe --tags --always --dirty)" -t fleetdoctor/kubectl-fleetdoctor:dev .

# A tag can move, a digest cannot. The newest: go tool -modfile=test/release/go.mod crane digest golang:1.26
FROM golang:1.26.8@sha256:0f063af2d465d8dcae54cce04278ada488b96f77b42449c8d071e47d016cc65a AS build
WORKDIR /src
# A separate layer for the modules, because they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# .dockerignore excludes .git, so the version is an argument. The builder sets TARGETOS and TARGETARCH.
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
# As in a release, the binary needs no C library: the final image has none.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-X github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd.version=$VERSION" \
    -o /out/kubectl-fleetdoctor ./cmd/kubectl-fleetdoctor && \
    go run ./test/licenses -o /out/THIRD_PARTY_LICENSES.txt /out/kubectl-fleetdoctor

FROM scratch
# For API servers with a certificate of a public authority. In a pod, the certificate of the cluster's authority is mounted.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/kubectl-fleetdoctor /kubectl-fleetdoctor
COPY LICENSE /LICENSE
COPY --from=build /out/THIRD_PARTY_LICENSES.txt /THIRD_PARTY_LICENSES.txt
USER 65532:65532
ENTRYPOINT ["/kubectl-fleetdoctor"]
