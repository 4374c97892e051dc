import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Money } from '../../ui/Money.tsx'
import { MoneyText } from '../../ui/MoneyText.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { Tile } from './Tile.tsx'

export type Standing = AnswerOf<'GET /overview'>

/** What the account has: money, and keys to use it with. */
export function StandingTiles({ standing: { wallet, keys } }: { standing: Standing }) {
  const { overview: words } = useWords()
  const formats = useFormats()
  const isHeld = /[1-9]/.test(wallet.held)
  return (
    <>
      <Tile to="/wallet">
        <StatTile
          label={words.balance}
          value={<Money amount={wallet.balance} />}
          note={
            isHeld ? <MoneyText say={words.balanceNote} amounts={[wallet.held, wallet.available]} /> : words.nothingHeld
          }
        />
      </Tile>
      <Tile to="/keys">
        <StatTile
          label={words.keys}
          value={formats.count(keys.active)}
          note={words.keysNote(formats.count(keys.total))}
        />
      </Tile>
    </>
  )
}
