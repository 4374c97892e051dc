import { useFormats } from '../words/WordsProvider.tsx'

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
