import { cx } from '../lib/cx.ts'
import { isZero } from '../lib/money.ts'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'

interface MoneyProps {
  /** A decimal string of the API. */
  readonly amount: string
  /** `moves`: what comes in is green and has a plus. `held`: it is set aside, if it is anything. */
  readonly as?: 'plain' | 'moves' | 'held'
  /** All digits at once, where lines have to add up before one's eyes. */
  readonly digits?: 'short' | 'exact'
}

/** An amount: short to read, exact on hover, and its sign in words for whoever listens. */
export function Money({ amount, as = 'plain', digits = 'short' }: MoneyProps) {
  const formats = useFormats()
  const { common } = useMessages()
  const exact = formats.exactMoney(amount)
  const isOut = amount.startsWith('-')
  const isNothing = isZero(amount)
  const isIn = as === 'moves' && !isOut && !isNothing
  const shown = `${isIn ? '+' : ''}${digits === 'exact' ? exact : formats.money(amount)}`
  const valueText = isOut ? `${common.minus} ${formats.exactMoney(amount.slice(1))}` : exact
  return (
    <span
      title={exact}
      className={cx(
        'figures whitespace-nowrap',
        isIn && 'text-good',
        isOut && 'text-bad',
        as === 'held' && !isNothing && 'text-held',
      )}
    >
      <span aria-hidden="true">{shown}</span>
      <span className="sr-only">{valueText}</span>
    </span>
  )
}

interface MoneyTextProps {
  /** A sentence of the catalogue around them. */
  readonly say: (...amounts: string[]) => string
  /** Decimal strings of the API. */
  readonly amounts: readonly string[]
  readonly className?: string
}

/** Amounts within a sentence: short to read, and all their digits on hover. */
export function MoneyText({ say, amounts, className }: MoneyTextProps) {
  const formats = useFormats()
  return (
    <span title={say(...amounts.map(formats.exactMoney))} className={className}>
      {say(...amounts.map(formats.money))}
    </span>
  )
}
