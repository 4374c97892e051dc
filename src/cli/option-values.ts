import { InvalidArgumentError } from 'commander'

/** A whole number above zero, as an option's value. */
export function parseCount(text: string): number {
  const count = Number(text)
  if (!/^\d{1,15}$/.test(text) || count === 0) throw new InvalidArgumentError('It must be a whole number above zero.')
  return count
}

/** 0 takes any free port. */
export function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.')
  return port
}

/** Null is taken for an option without a value, so the word stays until the terms are made. */
export function parseCountOrNone(text: string): number | 'none' {
  if (text === 'none') return text
  try {
    return parseCount(text)
  } catch {
    throw new InvalidArgumentError('It must be a whole number above zero, or none.')
  }
}

/** Ids or globs, separated by commas. */
export const parseList = (text: string): string[] => text.split(',').map((each) => each.trim())
