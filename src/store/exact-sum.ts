/**
 * A sum in two columns, because SUM fails where it passes 64 bits: the high parts and the low parts of the amounts. Of a
 * negative amount the high part is negative and the low one is not.
 */
export const highAndLow = (amount: string): string =>
  `COALESCE(SUM((${amount}) >> 32), 0) AS high_nano, COALESCE(SUM((${amount}) & 4294967295), 0) AS low_nano`

/** As one column, where the sum fits: else it is a number of another type, equal to no amount. */
export const sumThatFits = (amount: string): string =>
  `(COALESCE(SUM((${amount}) >> 32), 0) * 4294967296 + COALESCE(SUM((${amount}) & 4294967295), 0))`

export const exactSum = ({ high_nano, low_nano }: { readonly high_nano: bigint; readonly low_nano: bigint }): bigint =>
  (high_nano << 32n) + low_nano
