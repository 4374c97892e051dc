import type { ReactNode } from 'react'

interface FactsProps {
  readonly facts: readonly { readonly name: string; readonly value: ReactNode }[]
}

/** Names and what stands behind them, below each other; what is too long for its line takes the next. */
export const Facts = ({ facts }: FactsProps) => (
  <dl className="grid gap-y-1.5 text-sm">
    {facts.map(({ name, value }) => (
      <div key={name} className="flex min-w-0 flex-wrap justify-between gap-x-4">
        <dt className="text-faint">{name}</dt>
        <dd className="ms-auto min-w-0 text-end break-words">{value}</dd>
      </div>
    ))}
  </dl>
)
