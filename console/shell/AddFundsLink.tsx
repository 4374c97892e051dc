import { Link } from '@tanstack/react-router'
import { HandCoins } from 'lucide-react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { may, useSession } from '../queries/session.ts'
import { buttonClass } from '../ui/Button.tsx'

/** Operators add credit themselves, owners request funds. Both links open the form. */
export function AddFundsLink({ tone = 'plain' }: { tone?: 'plain' | 'primary' }) {
  const { person } = useSession()
  const { overview } = useMessages()
  if (!may(person, 'owner')) return null
  const look = (
    <>
      <HandCoins aria-hidden="true" />
      {overview.addFunds}
    </>
  )
  return person.role === 'operator' && person.account !== null ? (
    <Link
      to="/operate/accounts/$account"
      params={{ account: person.account.id }}
      search={{ credit: 'yes' }}
      className={buttonClass(tone)}
    >
      {look}
    </Link>
  ) : (
    <Link to="/wallet" search={{ ask: 'yes' }} className={buttonClass(tone)}>
      {look}
    </Link>
  )
}
