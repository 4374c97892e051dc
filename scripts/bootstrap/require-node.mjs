// Imported first, in syntax that old Node versions can parse: they print this message instead of a syntax error inside a
// dependency.
const NEEDED = { major: 20, minor: 19 }

export function nodeComplaint(version, path) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number)
  if (major > NEEDED.major || (major === NEEDED.major && minor >= NEEDED.minor)) return undefined
  return [
    `Millrace needs Node ${NEEDED.major}.${NEEDED.minor} or newer; this is ${version} (${path}).`,
    'Install a current one from https://nodejs.org/en/download (or: nvm install 24), then run the same command again.',
  ].join('\n')
}

const complaint = nodeComplaint(process.version, process.execPath)
if (complaint !== undefined) {
  process.stderr.write(`${complaint}\n`)
  process.exit(1)
}
