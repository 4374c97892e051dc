import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CreditCard, HandCoins, Hourglass, ReceiptText, Ticket } from 'lucide-react'
import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useWallet } from '../../queries/account.ts'
import { useCard } from '../../queries/payments.ts'
import { useMay } from '../../queries/session.ts'
import { ReturnedNote } from '../../shell/ReturnedNote.tsx'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Explained, Page, PageHeader, StatRow, StatTile } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Money, MoneyText, Time } from '../../ui/values.tsx'
import { AddFundsDialog, CardPanels } from './CardPanels.tsx'
import { StatementPanel } from './StatementPanel.tsx'
import { RedeemDialog, RequestFundsDialog } from './wallet-dialogs.tsx'

export function WalletPage() {
  const { shell, wallet, payments } = useMessages()
  const query = useWallet()
  const { data: card } = useCard()
  const { open, setOpen, close } = useFunding()
  const asked = query.data?.asked ?? null
  const mayPay = useMay()('owner')
  const redeem = mayPay && (
    <Button tone="primary" onClick={() => setOpen('redeem')}>
      <Ticket aria-hidden="true" />
      {wallet.redeem}
    </Button>
  )
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.wallet}
        about={wallet.about}
        actions={
          <>
            <Link to="/invoice" className={buttonClass('plain')}>
              <ReceiptText aria-hidden="true" />
              {shell.pageTitles.invoice}
            </Link>
            {asked === null && mayPay && (
              <Button onClick={() => setOpen('ask')}>
                <HandCoins aria-hidden="true" />
                {wallet.ask}
              </Button>
            )}
            {redeem}
            {card?.enabled === true && mayPay && (
              <Button tone="primary" onClick={() => setOpen('add')}>
                <CreditCard aria-hidden="true" />
                {payments.add}
              </Button>
            )}
          </>
        }
      />
      <ReturnedNote page="/wallet" />
      <WalletTiles query={query} />
      {asked !== null && <FundingRequestNote asked={asked} onChange={mayPay ? () => setOpen('ask') : undefined} />}
      <WalletExplained />
      {card?.enabled === true && <CardPanels card={card} mayPay={mayPay} />}
      <StatementPanel fill={redeem} />
      {mayPay && open === 'add' && card !== undefined && <AddFundsDialog card={card} onClose={close} />}
      {mayPay && open === 'redeem' && <RedeemDialog onClose={close} />}
      {mayPay && open === 'ask' && query.data !== undefined && (
        <RequestFundsDialog asked={asked} onClose={close} onRedeem={() => setOpen('redeem')} />
      )}
    </Page>
  )
}

/** `/wallet?ask=yes` opens the funding request. The parameter is removed so that a reload shows the wallet. */
function useFunding() {
  const navigate = useNavigate()
  const { ask } = useSearch({ strict: false })
  const [open, setOpen] = useState<'redeem' | 'ask' | 'add' | undefined>(ask === undefined ? undefined : 'ask')
  const close = () => {
    setOpen(undefined)
    if (ask !== undefined) void navigate({ to: '/wallet', search: {}, replace: true })
  }
  return { open, setOpen, close }
}

function WalletTiles({ query }: { query: ReturnType<typeof useWallet> }) {
  const { wallet } = useMessages()
  const formats = useFormats()
  return (
    <QueryView query={query} lines={3}>
      {({ balance, held, available, running }) => (
        <StatRow>
          <StatTile label={wallet.available} value={<Money amount={available} />} note={wallet.availableNote} />
          <StatTile
            label={wallet.held}
            value={<Money amount={held} as="held" />}
            note={running === 0 ? wallet.heldNothing : formats.plural(running, wallet.heldBy)}
          />
          <StatTile label={wallet.balance} value={<Money amount={balance} />} note={wallet.balanceNote} />
        </StatRow>
      )}
    </QueryView>
  )
}

interface FundingRequestNoteProps {
  readonly asked: NonNullable<AnswerOf<'GET /wallet'>['asked']>
  readonly onChange: (() => void) | undefined
}

function FundingRequestNote({ asked, onChange }: FundingRequestNoteProps) {
  const { wallet } = useMessages()
  return (
    <section
      aria-label={wallet.askedTitle}
      className="flex flex-wrap items-start gap-x-4 gap-y-2 rounded-xl border border-line bg-held-wash px-4 py-3"
    >
      <Hourglass aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-held" />
      <div className="min-w-48 flex-1">
        <p className="font-medium text-held">{wallet.askedTitle}</p>
        <p className="text-sm">
          <MoneyText message={wallet.asked} amounts={[asked.amount]} />, <Time at={asked.at} />.
        </p>
        {asked.note !== '' && <p className="text-sm wrap-anywhere whitespace-pre-line text-soft">“{asked.note}”</p>}
      </div>
      {onChange !== undefined && <Button onClick={onChange}>{wallet.askChange}</Button>}
    </section>
  )
}

const PARTS = ['hold', 'charge', 'test', 'plan'] as const

function WalletExplained() {
  const { explained, explain } = useMessages().wallet
  return (
    <Explained title={explained} parts={PARTS.map((id) => ({ id, title: explain[id], text: explain[`${id}Text`] }))} />
  )
}
