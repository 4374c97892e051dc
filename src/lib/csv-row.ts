/**
 * One row of a CSV file (RFC 4180). Spreadsheets calculate what begins like a formula: in front of a text that does, an
 * apostrophe keeps it a text. Numbers are handed in as numbers, and amounts as plain decimals, which stay as they are.
 */
export const csvRow = (cells: readonly (string | number)[]): string => `${cells.map(cellOf).join(',')}\r\n`

const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/
const FORMULA = /^[\s\p{Cc}]*[=+\-@|%＝＋－＠]/u

function cellOf(value: string | number): string {
  if (typeof value === 'number' || PLAIN_NUMBER.test(value)) return String(value)
  const harmless = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]|^'|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
