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
export function TodayTiles({ today }: { today: LatelyUsed['today'] }) {
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
          note={
            today.requests === 0
              ? words.noneToday
              : today.failed === 0
                ? words.allWell
                : formats.plural(today.failed, words.failed)
          }
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
