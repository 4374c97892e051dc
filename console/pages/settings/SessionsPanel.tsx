import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useAct } from '../../questions/useAct.ts'
import { useSessions } from '../../questions/useSessions.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { Time } from '../../ui/Time.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { agentName } from './agent-name.ts'

type Session = AnswerOf<'GET /sessions'>['items'][number]

/** Where somebody is signed in, and the end of whichever they do not know. */
export function SessionsPanel() {
  const { settings } = useWords()
  const sessions = useSessions()
  const columns = useColumns()
  return (
    <Panel title={settings.sessions} about={settings.sessionsAbout} padding="flush">
      <Answer question={sessions}>
        {({ items }) => (
          <DataTable caption={settings.sessions} columns={columns} rows={items} rowId={(session) => session.id} />
        )}
      </Answer>
    </Panel>
  )
}

function useColumns(): Column<Session>[] {
  const { settings, common } = useWords()
  const end = useAct('DELETE /sessions/:session', { changes: ['GET /sessions'], done: settings.ended })
  const nameOf = ({ agent }: Session) => {
    const { browser, system } = agentName(agent)
    if (browser === undefined) return settings.unknownAgent
    return system === undefined ? browser : settings.agentOn(browser, system)
  }
  return [
    {
      id: 'agent',
      header: settings.browser,
      narrow: 'title',
      cell: (session) => <span title={session.agent}>{nameOf(session)}</span>,
    },
    { id: 'address', header: settings.address, cell: ({ address }) => <code>{address}</code> },
    { id: 'since', header: settings.since, cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'seen', header: settings.seen, cell: ({ seen_at }) => <Time at={seen_at} /> },
    {
      id: 'end',
      header: common.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: (session) =>
        session.current ? (
          <Badge tone="good">{settings.thisOne}</Badge>
        ) : (
          <Button
            aria-label={settings.endThis(nameOf(session))}
            busy={end.isPending && end.variables.params.session === session.id}
            onClick={() => end.mutate({ params: { session: session.id } })}
          >
            {settings.end}
          </Button>
        ),
    },
  ]
}
