# SPDX-License-Identifier: Apache-2.0
# docker build --build-arg VERSION="$(git describe --tags --always --dirty)" -t fleetdoctor/kubectl-fleetdoctor:dev .

FROM golang:1.26 AS build
WORKDIR /src
# Modules in a layer of their own: they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# .dockerignore keeps .git out, so the version has to be said. A platform is set by builders that build for another.
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
# As in the Makefile's dist, whose binaries need no C library: there is none below.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-X github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd.version=$VERSION" \
    -o /out/kubectl-fleetdoctor ./cmd/kubectl-fleetdoctor

FROM scratch
# For a kubeconfig whose API server has a public certificate; in a pod the cluster's own authority is mounted.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/kubectl-fleetdoctor /kubectl-fleetdoctor
USER 65532:65532
ENTRYPOINT ["/kubectl-fleetdoctor"]
