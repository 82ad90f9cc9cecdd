// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// NoAddress replaces an address of which no part may be shown.
const NoAddress = "[address not shown]"

// Address returns the address of a server, a URL or HOST:PORT, without user, password, query and fragment. It returns
// NoAddress for a malformed address with an "@" or a query, because any part of it can belong to a password.
func Address(address string) string {
	if !strings.ContainsAny(address, "@?#%") {
		return address
	}
	schemeless := !strings.Contains(address, "://")
	full := address
	if schemeless {
		full = "https://" + address
	}
	u, err := url.Parse(full)
	// An "@" after the host is probably the end of a password that contains a slash or a question mark. client-go
	// escapes a "#" as part of the path.
	if err != nil || u.Host == "" {
		return NoAddress
	}
	if strings.Contains(u.RawQuery+u.Fragment, "@") || strings.ContainsAny(u.Path, "@?#") {
		return NoAddress
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	shown := u.String()
	if WithoutCredentials(shown) != shown {
		return NoAddress // the user is escaped as a part of the host
	}
	if schemeless {
		return strings.TrimPrefix(shown, "https://")
	}
	return shown
}

// IsPublic reports whether an address is a URL with a host and without user, password, query and fragment.
func IsPublic(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && Address(address) == address
}

// WithoutCredentials replaces each credential in the addresses of a text by ***.
func WithoutCredentials(text string) string {
	return ReplaceCredentials(text, func(string) string { return "***" })
}

// ReplaceCredentials replaces each credential in the addresses of a text. A credential is
//   - the user and the password of a URL, except for the user git without a password,
//   - those of an scp address (USER:PASSWORD@HOST:PATH) or a URL without a scheme (USER:PASSWORD@HOST/PATH), and their
//     user alone if it looks like a key,
//   - a parameter of a query or of a fragment, if its name is that of a key or its value looks like one.
//
// An address can be escaped for URLs, also several times.
func ReplaceCredentials(text string, replace func(credential string) string) string {
	const blanks = " \t\r\n\v\f\"`" // no address has them
	if !hasMark(text) {
		return text
	}
	var out strings.Builder
	done := 0
	for {
		mark := strings.IndexAny(text[done:], marks)
		if mark < 0 {
			break
		}
		mark += done
		begin, end := done+strings.LastIndexAny(text[done:mark], blanks)+1, len(text)
		if length := strings.IndexAny(text[mark:], blanks); length >= 0 {
			end = mark + length
		}
		out.WriteString(text[done:begin])
		replaceInWord(&out, text[begin:end], replace)
		done = end
	}
	out.WriteString(text[done:])
	return out.String()
}

// marks are characters of which each address with a credential has one.
const marks = "@?#%"

// hasMark searches for one byte at a time: that is several times faster than a search for any of them.
func hasMark(text string) bool {
	for i := range len(marks) {
		if strings.IndexByte(text, marks[i]) >= 0 {
			return true
		}
	}
	return false
}

const (
	atSign = `(?:@|%(?:25)*40)`
	colon  = `(?::|%(?:25)*3[Aa])`
	// certainHost matches a host that is hardly a part of a password.
	certainHost = `(?:\[[\w:.%]*\]|localhost|[\w-]+(?:\.[\w-]+)+)`
	// longestHost is the number of bytes in which a host ends.
	longestHost = 260
)

var (
	// scheme matches the beginning of a URL. JSON may escape its slashes.
	scheme = regexp.MustCompile(`[A-Za-z][\w+.-]*` + colon + `(?:\\?/|%(?:25)*2[Ff]){2}`)
	// hostEnd matches what follows the host and the port, escapedHostEnd in a URL that is escaped as a whole.
	hostEnd        = regexp.MustCompile(`[/?#]`)
	escapedHostEnd = regexp.MustCompile(`[/?#]|%(?:25)*(?:2[Ff]|3[Ff]|23)`)
	loginEnd       = regexp.MustCompile(atSign)
	pair           = regexp.MustCompile(colon)
	// digest matches the beginning of the digest of an image.
	digest = regexp.MustCompile(`@sha\d+:`)
	// beginsWithHost matches what follows a login.
	beginsWithHost = regexp.MustCompile(`^` + certainHost + `(?:\.?$|[^\w@.-])`)
	// hostAndPort matches a host without a login. nameAndPort can also match a user, with a password of digits.
	hostAndPort = regexp.MustCompile(`^` + certainHost + `(?::\d*)?$`)
	nameAndPort = regexp.MustCompile(`^[^:]*:\d{1,5}$`)
	// scp matches an scp address, and a URL without its scheme. The user can be an e-mail address, but a list of
	// addresses with users and no passwords is none. A user of asterisks was replaced.
	scp = regexp.MustCompile(`([\w.+~*-]+)(` + colon + `.*|@[\w.-]+` + colon + `[^,;|]*)?(` + atSign +
		`(?:(?:\[[\w:.%]*\]|[\w.-]+):[\w/~.]|` + certainHost + `/))`)
	// parameter matches a parameter with a name, or without one.
	parameter = regexp.MustCompile(`([?#&;]|\\u0026|%(?:25)*(?:3[Ff]|23|26))` +
		`(?:([\w.%\[\]-]*?(?:=|%(?:25)*3[Dd]))([^'&;#<>\\]*)|([^'?&;#<>\\]*))`)
)

// replaceInWord writes a text without blanks, which can have several addresses.
func replaceInWord(out *strings.Builder, word string, replace func(string) string) {
	begins := scheme.FindAllStringIndex(word, -1)
	begins = slices.DeleteFunc(begins, func(found []int) bool {
		return found[0] > begins[0][0] && inPassword(word[:found[0]])
	})
	begins = append(begins, []int{len(word), len(word)})
	replaceInSCP(out, word[:begins[0][0]], replace)
	for i, found := range begins[:len(begins)-1] {
		prefix := word[found[0]:found[1]]
		out.WriteString(prefix)
		replaceInURL(out, word[found[1]:begins[i+1][0]], strings.Contains(prefix, "%"), replace)
	}
}

// inPassword reports whether what looks like a second URL is in the password of the first one, and has no prefix such
// as in git::https://HOST.
func inPassword(before string) bool {
	return strings.HasSuffix(before, ":") && !strings.HasSuffix(before, "::")
}

// replaceInURL writes what follows the scheme of a URL.
func replaceInURL(out *strings.Builder, address string, escaped bool, replace func(string) string) {
	length := loginLength(address, escaped)
	if login := address[:length]; login == "" || login == "git" {
		out.WriteString(login)
	} else {
		out.WriteString(replace(login))
	}
	out.WriteString(parameter.ReplaceAllStringFunc(address[length:], func(p string) string {
		parts := parameter.FindStringSubmatch(p)
		rest := parts[3] + parts[4]                  // one of them is empty
		value := strings.TrimRight(rest, ".,:!)]}>") // which may end a sentence
		if !isSecret(parts[2], value) {
			return p
		}
		return parts[1] + parts[2] + replace(value) + rest[len(value):]
	}))
}

// loginLength returns the length of the login with which the text after the scheme of a URL begins. Few users escape
// their login: it can have an "@", and a password can have a slash. If the end is not certain, the last possible one
// counts.
func loginLength(address string, escaped bool) int {
	end := hostEnd
	if escaped {
		end = escapedHostEnd
	}
	authority := len(address)
	if found := end.FindStringIndex(address); found != nil {
		authority = found[0]
	}
	all, beforeHost := loginEnds(address)
	if len(all) == 0 {
		return 0
	}
	if all[0] > authority && !isLogin(address[:authority], len(beforeHost) > 0) {
		return 0
	}
	within, _ := slices.BinarySearch(beforeHost, authority) // how many are in the authority
	switch {
	case within > 0:
		return beforeHost[within-1]
	case len(beforeHost) > 0:
		return beforeHost[len(beforeHost)-1]
	}
	return all[len(all)-1]
}

// loginEnds returns where a login in a URL can end, and which of the ends are before what must be a host.
func loginEnds(address string) (all, beforeHost []int) {
	for _, found := range loginEnd.FindAllStringIndex(address, -1) {
		next := address[found[0]:min(len(address), found[0]+longestHost)]
		if d := digest.FindStringIndex(next); len(d) > 0 && d[0] == 0 {
			continue
		}
		all = append(all, found[0])
		if beginsWithHost.MatchString(next[found[1]-found[0]:]) {
			beforeHost = append(beforeHost, found[0])
		}
	}
	return all, beforeHost
}

// isLogin reports whether a URL begins with a user and a part of a password that has a slash, and not with a host.
// hostFollows states that the URL also has a host after an "@".
func isLogin(authority string, hostFollows bool) bool {
	switch {
	case !pair.MatchString(authority), hostAndPort.MatchString(authority):
		return false
	case nameAndPort.MatchString(authority):
		return hostFollows
	}
	return true
}

// replaceInSCP writes a text that can have scp addresses. The digest of an image looks like a host and a path.
func replaceInSCP(out *strings.Builder, text string, replace func(string) string) {
	ends := append(digest.FindAllStringIndex(text, -1), []int{len(text), len(text)})
	begin := 0
	for _, end := range ends {
		out.WriteString(scp.ReplaceAllStringFunc(text[begin:end[0]], func(address string) string {
			parts := scp.FindStringSubmatch(address)
			if parts[2] == "" && !isKey(parts[1]) {
				return address
			}
			return replace(parts[1]+parts[2]) + parts[3]
		}))
		out.WriteString(text[end[0]:end[1]])
		begin = end[1]
	}
}

var (
	// secretName matches names of settings that have secrets, as people name them; secretParameter those that only
	// addresses have.
	secretName = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|pwd|secret|token|credential|auth|` +
		`(private|api|access|secret|encryption|signing|license|tls)[-_.]?key)s?$`)
	secretParameter = regexp.MustCompile(`(?i)(key|sig|signature|(^|[-_.])(code|jwt|pw|sid))$`)
	// version matches the names of parameters that select a version of a repository; commit is what can follow "#".
	version = regexp.MustCompile(`(?i)^(ref|rev|revision|commit|branch|tag|version|checksum|resourceVersion)$`)
	commit  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// IsSecretName reports whether a setting of this name has a secret.
func IsSecretName(name string) bool { return secretName.MatchString(name) }

// isSecret reports whether the value of a parameter is a credential. The name ends with "="; it can be empty.
func isSecret(name, value string) bool {
	name = strings.TrimSuffix(Unescaped(name), "=")
	switch {
	case value == "" || version.MatchString(name):
		return false
	case IsSecretName(name), secretParameter.MatchString(name):
		return true
	}
	separates := func(r rune) bool { return strings.ContainsRune("./:=,", r) }
	return slices.ContainsFunc(strings.FieldsFunc(Unescaped(value), separates), func(word string) bool {
		isCommit := name == "" && commit.MatchString(word)
		return !isCommit && isKey(word)
	})
}

// Unescaped removes the escapes of URLs from a text, which can have been escaped up to three times.
func Unescaped(text string) string {
	for range 3 {
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			break
		}
		text = plain
	}
	return text
}

// isKey reports whether a word in an address looks like a key: it is random, or has small letters, capitals and digits.
func isKey(word string) bool {
	if IsRandom(word) {
		return true
	}
	mixed := strings.ToLower(word) != word && strings.ToUpper(word) != word
	return mixed && len(word) >= ShortestKey && strings.ContainsAny(word, "0123456789")
}

const (
	// ShortestKey is the length of the shortest word that IsRandom accepts.
	ShortestKey = 16
	// ofChanges is the part of the neighbouring characters of a key that are of different classes, as 1/ofChanges of
	// its length. Of random letters and digits, it is 0.6; of words in camel case, it is at most 0.4.
	ofChanges = 2.2
)

// IsRandom reports whether a word looks like a key, a hash or base64, and not like a name: it has many changes between
// small letters, capitals, digits and other characters.
func IsRandom(word string) bool {
	word = strings.TrimRight(word, "=")
	if len(word) < ShortestKey || strings.Contains(word, "://") {
		return false
	}
	var seen [4]bool
	changes, last := 0, -1
	for i := range len(word) {
		class := classOf(word[i])
		if seen[class] = true; i > 0 && class != last {
			changes++
		}
		last = class
	}
	mixed := seen[digit] && (seen[small] || seen[capital])
	return mixed && float64(changes) >= float64(len(word))/ofChanges
}

const (
	small = iota
	capital
	digit
	otherCharacter
)

func classOf(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return small
	case c >= 'A' && c <= 'Z':
		return capital
	case c >= '0' && c <= '9':
		return digit
	}
	return otherCharacter
}

var (
	// bare matches an argument that no shell changes. At its begin, zsh expands "=" and fish "%".
	bare = regexp.MustCompile(`^[\w@+:,./-][\w@%+=:,./-]*$`)
	// pieces divides an argument into the characters that fish escapes within single quotes, and the text between them.
	pieces = regexp.MustCompile(`[\\']|[^\\']+`)
)

// Shell quotes an argument of a command line so that bash, dash, fish and zsh read the same text. Within single quotes,
// fish reads \' and \\ as escapes, and the other shells do not. So backslashes and single quotes are escaped outside of
// quotes.
func Shell(argument string) string {
	if bare.MatchString(argument) {
		return argument
	}
	if argument == "" {
		return "''"
	}
	return pieces.ReplaceAllStringFunc(argument, func(piece string) string {
		if piece == `\` || piece == `'` {
			return `\` + piece
		}
		return "'" + piece + "'"
	})
}

// ShellWords quotes several arguments.
func ShellWords(arguments []string) string {
	words := make([]string, len(arguments))
	for i, a := range arguments {
		words[i] = Shell(a)
	}
	return strings.Join(words, " ")
}
