import { hideFromNowOn } from './hide-secrets.ts'

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
