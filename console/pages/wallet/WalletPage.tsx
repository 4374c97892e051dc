import { HandCoins, Ticket } from 'lucide-react'
import { useState } from 'react'
import { useWallet } from '../../questions/useWallet.ts'
import { Button } from '../../ui/Button.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { AskedNote } from './AskedNote.tsx'
import { AskForFundsDialog } from './AskForFundsDialog.tsx'
import { RedeemDialog } from './RedeemDialog.tsx'
import { StatementPanel } from './StatementPanel.tsx'
import { WalletExplained } from './WalletExplained.tsx'
import { WalletTiles } from './WalletTiles.tsx'

/** The prepaid money of an account: how it stands, what moved it, and how more of it comes in. */
export function WalletPage() {
  const { shell, wallet } = useWords()
  const question = useWallet()
  const [open, setOpen] = useState<'redeem' | 'ask' | undefined>()
  const close = () => setOpen(undefined)
  const asked = question.data?.asked ?? null
  const redeem = (
    <Button tone="primary" onClick={() => setOpen('redeem')}>
      <Ticket aria-hidden="true" />
      {wallet.redeem}
    </Button>
  )
  return (
    <Page>
      <PageHeader
        title={shell.areas.wallet}
        about={wallet.about}
        actions={
          <>
            {asked === null && (
              <Button onClick={() => setOpen('ask')}>
                <HandCoins aria-hidden="true" />
                {wallet.ask}
              </Button>
            )}
            {redeem}
          </>
        }
      />
      <WalletTiles question={question} />
      {asked !== null && <AskedNote asked={asked} onChange={() => setOpen('ask')} />}
      <WalletExplained />
      <StatementPanel fill={redeem} />
      {open === 'redeem' && <RedeemDialog onClose={close} />}
      {open === 'ask' && <AskForFundsDialog asked={asked} onClose={close} />}
    </Page>
  )
}
