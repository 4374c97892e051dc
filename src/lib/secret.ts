const SHOWN = '[secret]'

/**
 * A text that must not get into a log, a message or a file by accident. However it is printed, it shows that it is there
 * and nothing of itself; only who names `reveal` gets it. What others say of it is hidden by `hideSecrets`.
 */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
    hideFromNowOn(text)
  }

  reveal(): string {
    return this.#text
  }

  /** Comparing by structure sees no difference between two secrets. */
  equals(other: Secret): boolean {
    return this.#text === other.#text
  }

  toString(): string {
    return SHOWN
  }

  toJSON(): string {
    return SHOWN
  }

  [Symbol.toPrimitive](): string {
    return SHOWN
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return SHOWN
  }
}

/** Shorter ones are also ordinary words (`ollama`, `EMPTY`): hiding those would garble what is said. */
const LENGTH_MIN = 12

/**
 * Known to the whole process, because whoever repeats a secret has it from elsewhere: a provider that quotes the
 * credential it was sent, a library that puts a header into its error.
 */
const known = new Set<string>()
/** Longest first, so that one inside another leaves nothing of the longer one. Put in order when it is needed. */
let ordered: readonly string[] | undefined

/** From here on `hideSecrets` knows this text and each of its words, in every spelling of `spellingsOf`. */
export function hideFromNowOn(secret: string): void {
  for (const text of new Set([secret, ...secret.split(/\s+/)])) {
    if (text.length < LENGTH_MIN) continue
    for (const spelling of spellingsOf(text)) if (spelling.length >= LENGTH_MIN) known.add(spelling)
  }
  ordered = undefined
}

/** As it is, in one letter case, in base64 wherever it stands in what was encoded, and each of them as in an address. */
function spellingsOf(text: string): string[] {
  const inBase64 = [0, 1, 2].map((offset) => base64Within(text, offset))
  const plain = [text, text.toLowerCase(), text.toUpperCase(), ...inBase64, ...inBase64.map(urlSafe)]
  return plain.flatMap((each) => {
    const inAddress = encoded(each)
    return [each, inAddress, inAddress.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]
  })
}

/**
 * The letters of base64 that depend on this text alone, where `offset` bytes, modulo three, stand before it, such as
 * `user:` of Basic authentication. What follows it, and padding, is not among them.
 */
function base64Within(text: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
  return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6))
}

const urlSafe = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_')

/**
 * The text without any secret that this process was ever given. To be asked before a text is cut: hiding beginnings of
 * secrets, too, would let a client whose words come back find one out letter by letter.
 */
export function hideSecrets(text: string): string {
  ordered ??= [...known].sort((one, other) => other.length - one.length)
  let hidden = text
  for (const secret of ordered) {
    if (secret.length <= hidden.length && hidden.includes(secret)) hidden = hidden.replaceAll(secret, SHOWN)
  }
  return hidden
}

/** Half a surrogate pair has no place in an address. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}
