import { Link } from '@tanstack/react-router'
import { ScrollText } from 'lucide-react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { messageFor, useMessages } from '../../messages/MessagesProvider.tsx'
import { itemsOf, type Pages } from '../../queries/query.ts'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Empty, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'

type Line = AnswerOf<'GET /audit'>['items'][number]

interface AuditPanelProps {
  readonly query: Pages<Line>
  readonly of: 'own' | 'all' | 'one'
  readonly title?: string
}

/** The newest audit entries. For a single target the target column is hidden. */
export function AuditPanel({ query, of, title }: AuditPanelProps) {
  const { audit, shell } = useMessages()
  const columns = useColumns(of)
  return (
    <Panel padding="flush" {...(title !== undefined && { title })}>
      <QueryView query={query} lines={8}>
        {(data) => {
          const lines = itemsOf(data)
          return lines.length === 0 ? (
            <Empty icon={ScrollText} title={audit.none} text={audit.noneText} />
          ) : (
            <DataTable
              caption={title ?? shell.pageTitles.audit}
              columns={columns}
              rows={lines}
              rowId={({ seq }) => String(seq)}
            />
          )
        }}
      </QueryView>
      <ShowMore query={query} />
    </Panel>
  )
}

function useColumns(of: AuditPanelProps['of']): Column<Line>[] {
  const { audit } = useMessages()
  return [
    {
      id: 'action',
      header: audit.action,
      narrow: 'title',
      cell: ({ action }) => (
        <span className="font-medium">{messageFor(audit.actions, action, action.replaceAll('_', ' '))}</span>
      ),
    },
    { id: 'at', header: audit.at, narrow: 'corner', cell: ({ at }) => <Time at={at} as="time" /> },
    {
      id: 'actor',
      header: audit.actor,
      cell: ({ actor, actor_name }) => (
        <span title={actor} className="inline-block max-w-56 truncate align-bottom">
          {actor_name ?? messageFor(audit.actors, actor)}
        </span>
      ),
    },
    ...(of === 'one' ? [] : [targetColumn(audit.target, of)]),
    {
      id: 'detail',
      header: audit.detail,
      cell: ({ detail }) => <span className="line-clamp-3 max-w-md min-w-40 break-words text-soft">{detail}</span>,
    },
  ]
}

const targetColumn = (header: string, of: 'own' | 'all'): Column<Line> => ({
  id: 'target',
  header,
  cell: ({ target, target_name }) => target !== null && <AuditTarget {...{ target, of }} name={target_name} />,
})

interface AuditTargetProps {
  readonly target: string
  /** Null: it has none, or is gone. */
  readonly name: string | null
  readonly of: 'own' | 'all'
}

/** The name of the target or else its id, linked if it has a page. */
function AuditTarget({ target, name, of }: AuditTargetProps) {
  const plain = `inline-block max-w-44 truncate align-bottom ${name === null ? 'font-mono text-xs' : ''}`
  const look = `${plain} text-accent hover:underline`
  if (of === 'all' && target.startsWith('acct_')) {
    return (
      <Link to="/operate/accounts/$account" params={{ account: target }} title={target} className={look}>
        {name ?? target}
      </Link>
    )
  }
  if (of === 'own' && target.startsWith('key_')) {
    return (
      <Link to="/keys/$key" params={{ key: target }} title={target} className={look}>
        {name ?? target}
      </Link>
    )
  }
  return (
    <span title={target} className={plain}>
      {name ?? target}
    </span>
  )
}
