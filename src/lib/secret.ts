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

/** From here on `hideSecrets` knows this text, each of its words, and both as they stand in an address. */
export function hideFromNowOn(secret: string): void {
  const spellings = [secret, ...secret.split(/\s+/)].flatMap((text) => [text, encoded(text)])
  for (const text of spellings) if (text.length >= LENGTH_MIN) known.add(text)
  ordered = undefined
}

/**
 * The text without any secret that this process was ever given. To be asked before a text is cut: hiding beginnings of
 * secrets, too, would let a client whose words come back find one out letter by letter.
 */
export function hideSecrets(text: string): string {
  ordered ??= [...known].sort((one, other) => other.length - one.length)
  let hidden = text
  for (const secret of ordered) if (hidden.includes(secret)) hidden = hidden.replaceAll(secret, SHOWN)
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
