const SHOWN = '[secret]'

/**
 * A text that must not get into a log, a message or a file by accident. Printing shows `[secret]`; only `reveal` returns the text.
 * `hideSecrets` removes it from other texts.
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

  /** A structural comparison does not see a difference between secrets. */
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

/** Shorter secrets are also ordinary words (`ollama`, `EMPTY`), and hiding those would garble messages. */
const LENGTH_MIN = 12

/** Process-wide, because secrets come back from outside: a provider quotes a credential, a library puts a header into its error. */
const known = new Set<string>()
/** Longest first, so that a secret inside another leaves nothing of the longer one. Sorted on demand. */
let ordered: readonly string[] | undefined

/** `hideSecrets` now hides this text and each of its words, in every spelling of `spellingsOf`. */
export function hideFromNowOn(secret: string): void {
  for (const text of new Set([secret, ...secret.split(/\s+/)])) {
    if (text.length < LENGTH_MIN) continue
    for (const spelling of spellingsOf(text)) if (spelling.length >= LENGTH_MIN) known.add(spelling)
  }
  ordered = undefined
}

/** Unchanged, in one letter case, in base64 at any offset, and each of these URL-encoded. */
function spellingsOf(text: string): string[] {
  const inBase64 = [0, 1, 2].map((offset) => base64Within(text, offset))
  const plain = [text, text.toLowerCase(), text.toUpperCase(), ...inBase64, ...inBase64.map(urlSafe)]
  return plain.flatMap((each) => {
    const inAddress = encoded(each)
    return [each, inAddress, inAddress.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]
  })
}

/** The letters of base64 that depend on this text alone, `offset` bytes (modulo three) behind the start, as in Basic authentication. */
function base64Within(text: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
  return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6))
}

const urlSafe = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_')

/**
 * Hides every secret that this process knows. Must run before a text is cut: hiding beginnings of secrets would let a client whose
 * text is returned guess a secret letter by letter.
 */
export function hideSecrets(text: string): string {
  ordered ??= [...known].sort((one, other) => other.length - one.length)
  let hidden = text
  for (const secret of ordered) {
    if (secret.length <= hidden.length && hidden.includes(secret)) hidden = hidden.replaceAll(secret, SHOWN)
  }
  return hidden
}

/** Half a surrogate pair cannot be URL-encoded. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}
