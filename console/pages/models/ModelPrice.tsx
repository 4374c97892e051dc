import type { ReactNode } from 'react'
import { cx } from '../../lib/cx.ts'
import { Money } from '../../ui/Money.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { ModelItem } from './find-models.ts'

type Tier = NonNullable<ModelItem['price']>['tiers'][number]

/** What a million tokens cost: the base price first, then what applies above so many tokens of input. */
export function ModelPrice({ model: { price } }: { model: ModelItem }) {
  const { models } = useWords()
  const formats = useFormats()
  if (price === null) return <span className="text-faint">–</span>
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-0.5 text-end">
      {price.tiers.map((tier) => (
        <TierLine key={tier.above_input_tokens} tier={tier} />
      ))}
      {price.per_request !== null && /[1-9]/.test(price.per_request) && (
        <Note>{models.perRequest(formats.exactMoney(price.per_request))}</Note>
      )}
    </div>
  )
}

function TierLine({ tier: { above_input_tokens, input, cached_input, cache_write, output } }: { tier: Tier }) {
  const { models } = useWords()
  const formats = useFormats()
  const isBase = above_input_tokens === 0
  const notes = [
    ...(isBase ? [] : [models.above(formats.count(above_input_tokens))]),
    ...(cache_write === null || cache_write === input ? [] : [models.cacheWrite(formats.exactMoney(cache_write))]),
  ]
  return (
    <>
      <span className={cx('flex flex-wrap justify-end gap-x-2 md:flex-nowrap', !isBase && 'text-soft')}>
        <Rate amount={input} />
        <Rate amount={cached_input} soft />
        <Rate amount={output} />
      </span>
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
    </>
  )
}

const Rate = ({ amount, soft = false }: { amount: string | null; soft?: boolean }) => (
  <span className={cx('text-end md:min-w-14', soft && 'text-faint')}>
    {amount === null ? '–' : <Money amount={amount} digits="exact" />}
  </span>
)

const Note = ({ children }: { children: ReactNode }) => <span className="text-xs text-faint">{children}</span>
