import type { PluralForms } from '../lib/formats.ts'
import type { base, lazy } from './en.ts'

/** The English catalogue says which words there are; any other language has the same, in its own. */
type Translated<Words> = {
  readonly [Key in keyof Words]: Words[Key] extends string
    ? string
    : Words[Key] extends (...given: infer Given) => string
      ? (...given: Given) => string
      : Words[Key] extends readonly string[]
        ? readonly string[]
        : Words[Key] extends PluralForms
          ? PluralForms
          : Translated<Words[Key]>
}

type Lazy = { readonly [Area in keyof typeof lazy]: Awaited<ReturnType<(typeof lazy)[Area]>> }

/** Areas whose words are there only on the pages that need them. */
export type LazyArea = keyof Lazy

export type BaseMessages = Translated<typeof base>
export type LazyMessages = { readonly [Area in LazyArea]: () => Promise<Translated<Lazy>[Area]> }

/** All words there are. A component finds those of its own areas: the house looks that its page says it needs them. */
export type Catalogue = BaseMessages & Translated<Lazy>
