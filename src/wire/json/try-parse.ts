/** The value that a text stands for; undefined, which is no JSON, when it stands for none. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
