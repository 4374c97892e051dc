import { InvalidArgumentError } from 'commander'

/** A whole number above zero, as an option's value. */
export function parseCount(text: string): number {
  const count = Number(text)
  if (!/^\d{1,15}$/.test(text) || count === 0) throw new InvalidArgumentError('It must be a whole number above zero.')
  return count
}
