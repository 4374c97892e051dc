import { useEffect } from 'react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useMembers } from '../../queries/account.ts'
import { itemsOf } from '../../queries/query.ts'
import { useTeams } from '../../queries/teams.ts'
import { Picker } from '../../ui/Picker.tsx'

export interface KeyOwners {
  /** Ids; empty: none. */
  readonly person: string
  readonly team: string
}

interface OwnerPickersProps {
  readonly owners: KeyOwners
  readonly onPick: (owners: KeyOwners) => void
}

/** The person and the team of a new key, which owners and admins choose. */
export function OwnerPickers({ owners, onPick }: OwnerPickersProps) {
  const { caps, keys } = useMessages()
  const [people, teams] = [useMembers(), useTeams()]
  useAllPages(people)
  useAllPages(teams)
  const active = itemsOf(people.data).filter(({ state }) => state === 'active')
  const open = itemsOf(teams.data).filter(({ archived_at }) => archived_at === null)
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Picker
        {...{ label: caps.holders.person, hint: keys.personHint, find: keys.findPerson, none: keys.ownKey }}
        noMatch={keys.noMatch}
        value={owners.person}
        options={active.map(({ id, email }) => ({ value: id, label: email }))}
        onPick={(person) => onPick({ ...owners, person })}
      />
      <Picker
        {...{ label: caps.holders.team, hint: keys.teamHint, find: keys.findTeam, none: keys.noTeam }}
        noMatch={keys.noMatch}
        value={owners.team}
        options={open.map(({ id, name }) => ({ value: id, label: name }))}
        onPick={(team) => onPick({ ...owners, team })}
      />
    </div>
  )
}

interface Growing {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => Promise<unknown>
}

/** A search covers what is loaded, so everything is. */
function useAllPages({ hasNextPage, isFetchingNextPage, fetchNextPage }: Growing): void {
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
}
