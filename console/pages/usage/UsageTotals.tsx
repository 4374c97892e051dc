import { sumMoney } from '../../lib/nano.ts'
import { Money } from '../../ui/Money.tsx'
import { MoneyText } from '../../ui/MoneyText.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { inputOf, type Used } from './usage-measure.ts'

/** The whole range in four numbers. */
export function UsageTotals({ total }: { total: Used }) {
  const { totals: words } = useWords().usage
  const formats = useFormats()
  const input = inputOf(total)
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <StatTile
        label={words.cost}
        value={<Money amount={sumMoney(total.wallet, total.plan)} />}
        note={<MoneyText say={words.costNote} amounts={[total.wallet, total.plan]} />}
      />
      <StatTile
        label={words.requests}
        value={<Tokens count={total.requests} />}
        note={formats.plural(total.failed, words.requestsNote)}
      />
      <StatTile
        label={words.input}
        value={<Tokens count={input} />}
        note={words.inputNote(formats.percent(input === 0 ? 0 : total.cached_input / input))}
      />
      <StatTile
        label={words.output}
        value={<Tokens count={total.output} />}
        note={words.outputNote(formats.short(total.reasoning))}
      />
    </div>
  )
}
