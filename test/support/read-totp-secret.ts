const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A secret as a person types it into an app (RFC 4648, base32). */
export function readTotpSecret(text: string): Buffer {
  const letters = text.replace(/\s/g, '')
  const bits = [...letters].map((letter) => LETTERS.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
