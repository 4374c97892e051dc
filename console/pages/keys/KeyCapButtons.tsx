import { Link } from '@tanstack/react-router'
import { type ComponentType, type ReactNode, Suspense, useState } from 'react'
import { lazyPart } from '../../lib/lazy-part.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { useMay } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import type { OwnKey } from './key-facts.tsx'

/** Loaded when they are opened, to keep the page small. */
const EditCapsDialog = lazyPart(async () => (await import('../cap-forms/cap-dialogs.tsx')).EditSpentCapsDialog)
const RaiseDialog = lazyPart(async () => (await import('../cap-forms/cap-dialogs.tsx')).RaiseDialog)

/** Members change the caps of their own keys; a raise is for owners and admins. */
export function KeyCapButtons({ keyItem }: { keyItem: OwnKey }) {
  const { caps } = useMessages()
  const may = useMay()
  const [opened, setOpened] = useState<'caps' | 'raise'>()
  const close = () => setOpened(undefined)
  const shown = { problem: 'shown-here', onDone: close } as const
  const change = useApiMutation('PATCH /keys/:key', { done: caps.changed, ...shown })
  const raise = useApiMutation('POST /keys/:key/raise', { done: caps.raisedNow, ...shown })
  const params = { key: keyItem.id }
  return (
    <>
      {may('member') && <Button onClick={() => setOpened('caps')}>{caps.edit}</Button>}
      {may('admin') && keyItem.caps.length > 0 && <Button onClick={() => setOpened('raise')}>{caps.raise}</Button>}
      <Suspense fallback={null}>
        {opened === 'caps' && (
          <EditCapsDialog
            {...{ title: caps.edit, spent: keyItem.caps, mutation: change, onClose: close }}
            onSend={(body) => change.mutate({ params, body: { caps: body } })}
          />
        )}
        {opened === 'raise' && (
          <RaiseDialog
            {...{ title: caps.raiseTitle(keyItem.name), spent: keyItem.caps, mutation: raise, onClose: close }}
            onSend={(body) => raise.mutate({ params, body })}
          />
        )}
      </Suspense>
    </>
  )
}

interface OwnerFactsProps {
  readonly keyItem: Pick<OwnKey, 'person' | 'team'>
  readonly as: ComponentType<{ readonly name: string; readonly children: ReactNode }>
}

/** Whose key it is. Members have no pages of people and teams. */
export function OwnerFacts({ keyItem: { person, team }, as: Fact }: OwnerFactsProps) {
  const { holders } = useMessages().caps
  const sees = useMay()('viewer')
  const link = 'text-accent hover:underline break-all'
  return (
    <>
      {person !== null && (
        <Fact name={holders.person}>
          {sees ? (
            <Link to="/members/$person" params={{ person: person.id }} className={link}>
              {person.email}
            </Link>
          ) : (
            person.email
          )}
        </Fact>
      )}
      {team !== null && (
        <Fact name={holders.team}>
          {sees ? (
            <Link to="/teams/$team" params={{ team: team.id }} className={link}>
              {team.name}
            </Link>
          ) : (
            team.name
          )}
        </Fact>
      )}
    </>
  )
}
