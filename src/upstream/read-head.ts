/** Headers of an answer that somebody reads. The rest is not even decoded: a head has thirty and we want four. */
const WANTED = ['content-type', 'content-encoding', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-request-id']

const LENGTHS = new Set(WANTED.map((name) => name.length))
const NAMES = new Set(WANTED)

/** From names and values in turn, as bytes, to what is wanted of them. A repeated header is one list. */
export function readHead(raw: readonly Buffer[]): Record<string, string> {
  const head: Record<string, string> = {}
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const bytes = raw[at]!
    if (!LENGTHS.has(bytes.length)) continue
    const name = bytes.toString('latin1').toLowerCase()
    if (!NAMES.has(name)) continue
    const value = raw[at + 1]!.toString('latin1')
    const earlier = head[name]
    head[name] = earlier === undefined ? value : `${earlier}, ${value}`
  }
  return head
}
