import type { PluralForms } from '../lib/formats.ts'
import type { en } from './en.ts'

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

export type Catalogue = Worded<typeof en>
