import type { PluralForms } from '../lib/formats.ts'
import type { base, lazy } from './en.ts'

/** A catalogue with the same keys as the English one. */
type Translated<Messages> = {
  readonly [Key in keyof Messages]: Messages[Key] extends string
    ? string
    : Messages[Key] extends (...given: infer Given) => string
      ? (...given: Given) => string
      : Messages[Key] extends readonly string[]
        ? readonly string[]
        : Messages[Key] extends PluralForms
          ? PluralForms
          : Translated<Messages[Key]>
}

type Lazy = { readonly [Area in keyof typeof lazy]: Awaited<ReturnType<(typeof lazy)[Area]>> }

/** Areas whose messages are loaded with the pages that use them. */
export type LazyArea = keyof Lazy

export type BaseMessages = Translated<typeof base>
export type LazyMessages = { readonly [Area in LazyArea]: () => Promise<Translated<Lazy>[Area]> }

/** All messages. A convention test checks that a page loads the areas that its components use. */
export type Catalogue = BaseMessages & Translated<Lazy>
