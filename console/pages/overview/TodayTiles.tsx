import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { sumMoney } from '../../lib/nano.ts'
import { Money } from '../../ui/Money.tsx'
import { MoneyText } from '../../ui/MoneyText.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { Tile } from './Tile.tsx'

export type LatelyUsed = AnswerOf<'GET /overview/usage'>

/** What has been used since midnight. */
export function TodayTiles({ lately }: { lately: LatelyUsed }) {
  const { today } = lately
  const { overview: words, requests } = useWords()
  const formats = useFormats()
  const input = today.uncached_input + today.cached_input + today.cache_write
  return (
    <>
      <Tile to="/usage">
        <StatTile
          label={words.todayCost}
          value={<Money amount={sumMoney(today.wallet, today.plan)} />}
          note={<MoneyText say={words.todayCostNote} amounts={[today.wallet, today.plan]} />}
        />
      </Tile>
      <Tile to="/requests">
        <StatTile
          label={words.todayRequests}
          value={<Tokens count={today.requests} />}
          note={<HowTodayWent lately={lately} />}
        />
      </Tile>
      <Tile to="/usage" search={{ measure: 'tokens' }} className="max-lg:col-span-2">
        <StatTile
          label={words.todayTokens}
          value={<Tokens count={input + today.output} />}
          note={requests.inOut(formats.short(input), formats.short(today.output))}
        />
      </Tile>
    </>
  )
}

function HowTodayWent({ lately: { today, refused_today } }: { lately: LatelyUsed }) {
  const { overview: words } = useWords()
  const formats = useFormats()
  const ended = today.failed === 0 ? words.allWell : formats.plural(today.failed, words.failed)
  const notes = [
    ...(today.requests === 0 ? [] : [ended]),
    ...(refused_today === 0 ? [] : [formats.plural(refused_today, words.refused)]),
  ]
  return notes.length === 0 ? words.noneToday : notes.join(', ')
}
