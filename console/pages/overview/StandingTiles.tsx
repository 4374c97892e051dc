import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { sumMoney } from '../../lib/nano.ts'
import { Money } from '../../ui/Money.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

export type Standing = AnswerOf<'GET /overview'>

/** The numbers that matter, each leading to the page that explains it. */
export function StandingTiles({ standing }: { standing: Standing }) {
  const { overview: words, requests } = useWords()
  const formats = useFormats()
  const { wallet, today, keys } = standing
  const isHeld = /[1-9]/.test(wallet.held)
  const input = today.uncached_input + today.cached_input + today.cache_write
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-5">
      <Tile to="/wallet" className="max-lg:col-span-2">
        <StatTile
          label={words.balance}
          value={<Money amount={wallet.balance} />}
          note={
            isHeld ? words.balanceNote(formats.money(wallet.held), formats.money(wallet.available)) : words.nothingHeld
          }
        />
      </Tile>
      <Tile to="/usage">
        <StatTile
          label={words.todayCost}
          value={<Money amount={sumMoney(today.wallet, today.plan)} />}
          note={words.todayCostNote(formats.money(today.wallet), formats.money(today.plan))}
        />
      </Tile>
      <Tile to="/requests">
        <StatTile
          label={words.todayRequests}
          value={<Tokens count={today.requests} />}
          note={<HowTodayWent standing={standing} />}
        />
      </Tile>
      <Tile to="/usage" search={{ measure: 'tokens' }}>
        <StatTile
          label={words.todayTokens}
          value={<Tokens count={input + today.output} />}
          note={requests.inOut(formats.short(input), formats.short(today.output))}
        />
      </Tile>
      <Tile to="/keys">
        <StatTile
          label={words.keys}
          value={formats.count(keys.active)}
          note={words.keysNote(formats.count(keys.total))}
        />
      </Tile>
    </div>
  )
}

function HowTodayWent({ standing: { today, refused_today } }: { standing: Standing }) {
  const { overview: words } = useWords()
  const formats = useFormats()
  const ended = today.failed === 0 ? words.allWell : formats.plural(today.failed, words.failed)
  const notes = [
    ...(today.requests === 0 ? [] : [ended]),
    ...(refused_today === 0 ? [] : [formats.plural(refused_today, words.refused)]),
  ]
  return notes.length === 0 ? words.noneToday : notes.join(', ')
}

interface TileProps {
  readonly to: '/wallet' | '/usage' | '/requests' | '/keys'
  readonly search?: Readonly<Record<string, string>>
  readonly className?: string
  readonly children: ReactNode
}

const Tile = ({ to, search = {}, className = '', children }: TileProps) => (
  <Link
    to={to}
    search={search}
    className={`grid min-w-0 rounded-xl transition-shadow hover:ring-1 hover:ring-edge ${className}`}
  >
    {children}
  </Link>
)
