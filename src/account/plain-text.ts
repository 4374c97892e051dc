import { z } from 'zod'

/** A person's words on one line: no control characters, nothing empty, and short enough to list. */
export const plainText = (charactersMax: number) =>
  z
    .string()
    .trim()
    .min(1, 'is empty')
    .max(charactersMax, `is longer than ${charactersMax} characters`)
    .refine((text) => !/\p{Cc}/u.test(text), 'contains control characters')

/** The same, and may be left out. */
export const plainNote = (charactersMax: number) =>
  z
    .string()
    .trim()
    .max(charactersMax, `is longer than ${charactersMax} characters`)
    .refine((text) => !/\p{Cc}/u.test(text), 'contains control characters')

/** What an account, a key or a request is named by: an id or an address, which nobody needs to write longer. */
export const nameArgument = plainText(320)
