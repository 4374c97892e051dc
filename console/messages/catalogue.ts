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

type Lazy = { readonly [Bundle in keyof typeof lazy]: Awaited<ReturnType<(typeof lazy)[Bundle]>> }

/** Bundles whose messages are loaded with the pages that use them. */
export type LazyBundle = keyof Lazy

export type BaseMessages = Translated<typeof base>
export type LazyMessages = { readonly [Bundle in LazyBundle]: () => Promise<Translated<Lazy>[Bundle]> }

/** All messages. A convention test checks that a page loads the bundles that its components use. */
export type Catalogue = BaseMessages & Translated<Lazy>
