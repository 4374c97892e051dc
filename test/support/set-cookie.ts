/** A line of `Set-Cookie`, taken apart. */
export interface SetCookie {
  readonly name: string
  readonly value: string
  /** In lower case; those without a value are empty. */
  readonly attributes: ReadonlyMap<string, string>
  /** What a browser sends from then on; undefined where it was told to forget it. */
  readonly sent: string | undefined
}

export function readSetCookie(line: string): SetCookie {
  const [pair = '', ...rest] = line.split(';').map((part) => part.trim())
  const [name = '', value = ''] = split(pair)
  const attributes = new Map(rest.map((part) => split(part)).map(([key, text = '']) => [key.toLowerCase(), text]))
  const isOver = value === '' || attributes.get('max-age') === '0'
  return { name, value, attributes, sent: isOver ? undefined : `${name}=${value}` }
}

function split(text: string): [string, string?] {
  const at = text.indexOf('=')
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
