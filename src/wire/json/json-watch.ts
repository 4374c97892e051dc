/** Listens to JSON that comes in pieces, for one thing: whether it has broken off. */
export interface JsonWatch {
  feed(text: string): void
  /** A string, an object or an array is open. What is wrong in another way is not cut, but wrong. */
  isOpen(): boolean
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]

export function createJsonWatch(): JsonWatch {
  let depth = 0
  let inString = false
  let escaped = false

  const feedString = (unit: number): void => {
    if (escaped) escaped = false
    else if (unit === BACKSLASH) escaped = true
    else if (unit === QUOTE) inString = false
  }

  return {
    feed(text) {
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at)
        if (inString) feedString(unit)
        else if (unit === QUOTE) inString = true
        else if (unit === OPEN_OBJECT || unit === OPEN_LIST) depth++
        else if (unit === CLOSE_OBJECT || unit === CLOSE_LIST) depth--
      }
    },
    isOpen: () => inString || depth > 0,
  }
}
