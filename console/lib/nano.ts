const NANO_PLACES = 9

/** A decimal string of the API as a whole number of nano-dollars. The API sends nothing else, so anything else is a bug. */
export function nanoOf(amount: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(amount)
  if (!match) throw new Error(`not an amount of money: ${amount}`)
  const [, sign, whole = '0', fraction = ''] = match
  const nano = BigInt(whole + fraction.padEnd(NANO_PLACES, '0'))
  return sign === '-' ? -nano : nano
}

/** Back again: two places at least, no zeros behind the last digit that counts. */
export function decimalOf(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(NANO_PLACES + 1, '0')
  const fraction = digits.slice(-NANO_PLACES).replace(/0{1,7}$/, '')
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -NANO_PLACES)}.${fraction}`
}

export const sumMoney = (...amounts: readonly string[]): string =>
  decimalOf(amounts.reduce((sum, amount) => sum + nanoOf(amount), 0n))

/** How much of `whole` a part is, from 0 to 1, for bars and nothing that is read as a number. */
export function shareOf(part: string, whole: string): number {
  const [of, all] = [nanoOf(part), nanoOf(whole)]
  if (all <= 0n || of <= 0n) return 0
  return of >= all ? 1 : Number((of * 10_000n) / all) / 10_000
}
