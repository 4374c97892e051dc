import { z } from 'zod'

/** Two spellings of one address must not become two accounts. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

/**
 * Only the shape is looked at: whether an address exists is found out by writing to it, and `root@localhost` is a good
 * one on a machine of one's own.
 */
export const emailArgument = z
  .string()
  .transform(normalizeEmail)
  .refine((email) => email.length <= 254 && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email), 'is not an e-mail address')
