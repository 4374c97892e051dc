import type { CapsView } from '../account/keys/key-view.ts'

/** `5.00 a day, 50.00 a month`, or `without a cap`. */
export const capsInWords = ({ day, month }: CapsView): string => {
  const words = [day && `${day} USD a day`, month && `${month} USD a month`].filter(Boolean)
  return words.length === 0 ? 'without a cap' : words.join(', ')
}
