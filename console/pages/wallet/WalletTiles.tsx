import type { useWallet } from '../../questions/useWallet.ts'
import { Money } from '../../ui/Money.tsx'
import { Answer } from '../../ui/Panel.tsx'
import { StatTile } from '../../ui/StatTile.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'

/** How the wallet stands this moment. What is held and what is available make the balance. */
export function WalletTiles({ question }: { question: ReturnType<typeof useWallet> }) {
  const { wallet } = useWords()
  const formats = useFormats()
  return (
    <Answer question={question} lines={3}>
      {({ balance, held, available, running }) => (
        <div className="grid gap-3 sm:grid-cols-3">
          <StatTile label={wallet.available} value={<Money amount={available} />} note={wallet.availableNote} />
          <StatTile
            label={wallet.held}
            value={<Money amount={held} as="held" />}
            note={running === 0 ? wallet.heldNothing : formats.plural(running, wallet.heldBy)}
          />
          <StatTile label={wallet.balance} value={<Money amount={balance} />} note={wallet.balanceNote} />
        </div>
      )}
    </Answer>
  )
}
