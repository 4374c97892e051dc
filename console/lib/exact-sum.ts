/** Adds decimal texts of any number of places, to the last digit: what a charge is made of has more places than money. */
export function exactSum(amounts: readonly string[]): string {
  const places = Math.max(2, ...amounts.map((amount) => fractionOf(amount).length))
  const sum = amounts.reduce((all, amount) => all + unitsOf(amount, places), 0n)
  const digits = (sum < 0n ? -sum : sum).toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places)
  const kept = fraction.slice(0, 2) + fraction.slice(2).replace(/0+$/, '')
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -places)}.${kept}`
}

const fractionOf = (amount: string): string => amount.split('.')[1] ?? ''

function unitsOf(amount: string, places: number): bigint {
  if (!/^-?\d+(\.\d+)?$/.test(amount)) throw new Error(`not an amount of money: ${amount}`)
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(places, '0'))
}
