import { Link } from '@tanstack/react-router'
import { HandCoins } from 'lucide-react'
import { useMessages } from '../messages/MessagesProvider.tsx'
import { useSession } from '../queries/session.ts'
import { buttonClass } from '../ui/Button.tsx'

/** Operators credit the account themselves, everybody else requests funds. Either page opens with its form. */
export function AddFundsLink({ tone = 'plain' }: { tone?: 'plain' | 'primary' }) {
  const { person } = useSession()
  const { overview } = useMessages()
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
