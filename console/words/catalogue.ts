import type { PluralForms } from '../lib/formats.ts'
import type { base, later } from './en.ts'

/** The English catalogue says which words there are; any other language has the same, in its own. */
export type Worded<Words> = {
  readonly [Key in keyof Words]: Words[Key] extends string
    ? string
    : Words[Key] extends (...given: infer Given) => string
      ? (...given: Given) => string
      : Words[Key] extends readonly string[]
        ? readonly string[]
        : Words[Key] extends PluralForms
          ? PluralForms
          : Worded<Words[Key]>
}

type Later = { readonly [Area in keyof typeof later]: Awaited<ReturnType<(typeof later)[Area]>> }

/** Areas whose words are there only on the pages that need them. */
export type LaterArea = keyof Later

export type BaseWords = Worded<typeof base>
export type LaterWords = { readonly [Area in LaterArea]: () => Promise<Worded<Later>[Area]> }

/** All words there are. A component finds those of its own areas: the house looks that its page says it needs them. */
export type Catalogue = BaseWords & Worded<Later>
