import { Link, useParams } from '@tanstack/react-router'
import { KeyRound, RefreshCw, SquarePen } from 'lucide-react'
import { useState } from 'react'
import { ConsoleProblem } from '../../lib/console-problem.ts'
import { useAudit } from '../../queries/account.ts'
import { useKey } from '../../queries/keys.ts'
import { useKeyRequests } from '../../queries/requests.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { AuditPanel } from '../audit/AuditPanel.tsx'
import { LatestRequests } from '../requests/list/LatestRequests.tsx'
import { KeyDialogs } from './KeyDialogs.tsx'
import { KeySecretDialog, useKeySecret } from './KeySecretDialog.tsx'
import { KeyBadges, KeyStateBadge } from './KeyBadges.tsx'
import { KeyCaps } from './KeyCaps.tsx'
import { KeyMenu } from './KeyMenu.tsx'
import { KeyTerms } from './KeyTerms.tsx'
import { KeyUsage } from './KeyUsage.tsx'
import type { OwnKey, PickedAction } from './own-key.ts'

/** Everything about one key. */
export function KeyPage() {
  const { shell } = useMessages()
  const { key = '' } = useParams({ strict: false })
  const query = useKey(key)
  if (query.error instanceof ConsoleProblem && query.error.code === 'key_not_found') return <KeyNotFound />
  if (query.data !== undefined) return <KnownKey keyItem={query.data} />
  return (
    <Page>
      <PageHeader title={shell.areas.keys} />
      <Panel padding="flush">
        <QueryView query={query} lines={8}>
          {() => null}
        </QueryView>
      </Panel>
    </Page>
  )
}

function KnownKey({ keyItem }: { keyItem: OwnKey }) {
  const { keys } = useMessages()
  const [picked, setPicked] = useState<PickedAction | undefined>()
  const { made, show, drop } = useKeySecret()
  const isOver = keyItem.state === 'revoked'
  return (
    <Page>
      <PageHeader
        title={keyItem.name}
        about={<KeyStatus keyItem={keyItem} />}
        actions={<KeyButtons keyItem={keyItem} onAction={setPicked} />}
      />
      {!(isOver && keyItem.caps.length === 0) && (
        <Panel title={keys.caps}>
          <KeyCaps caps={keyItem.caps} as="long" />
        </Panel>
      )}
      <KeyUsage keyId={keyItem.id} isOver={isOver} />
      <KeyTerms keyItem={keyItem} />
      <KeyRequests keyId={keyItem.id} isOver={isOver} />
      <KeyAuditLog keyId={keyItem.id} />
      <KeyDialogs
        picked={picked}
        onClose={() => setPicked(undefined)}
        onRotated={(next) => {
          show(next)
          setPicked(undefined)
        }}
      />
      {made !== undefined && <KeySecretDialog made={made} onStored={drop} />}
    </Page>
  )
}

function KeyStatus({ keyItem }: { keyItem: OwnKey }) {
  const { keys } = useMessages()
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1 pt-1">
      <KeyStateBadge state={keyItem.state} />
      <KeyBadges keyItem={keyItem} />
      {keyItem.playground ? (
        <span className="text-sm">{keys.playgroundHint}</span>
      ) : (
        <code className="text-sm">{keyItem.shown}</code>
      )}
    </span>
  )
}

function KeyButtons({ keyItem, onAction }: { keyItem: OwnKey; onAction: (picked: PickedAction) => void }) {
  const { keys } = useMessages()
  if (keyItem.state === 'revoked') return null
  return (
    <>
      <Button onClick={() => onAction({ act: 'edit', key: keyItem })}>
        <SquarePen aria-hidden="true" />
        {keys.edit}
      </Button>
      {!keyItem.playground && (
        <Button onClick={() => onAction({ act: 'rotate', key: keyItem })}>
          <RefreshCw aria-hidden="true" />
          {keys.rotate}
        </Button>
      )}
      <KeyMenu keyItem={keyItem} onAction={onAction} />
    </>
  )
}

function KeyNotFound() {
  const { shell, keys } = useMessages()
  const back = (
    <Link to="/keys" className={buttonClass('primary')}>
      {keys.toKeys}
    </Link>
  )
  return (
    <Page>
      <PageHeader title={shell.areas.keys} />
      <Panel>
        <Empty icon={KeyRound} title={keys.notFoundKey} text={keys.notFoundKeyText} action={back} />
      </Panel>
    </Page>
  )
}

const SHOWN = 10

interface KeyRequestsProps {
  readonly keyId: string
  /** It is revoked: no first one will arrive. */
  readonly isOver: boolean
}

/** The last few requests of a key, as they come in. */
function KeyRequests({ keyId, isOver }: KeyRequestsProps) {
  const { keys } = useMessages()
  const query = useKeyRequests(keyId, SHOWN)
  const all = (
    <Link to="/requests" search={{ key: keyId }} className={buttonClass('quiet')}>
      {keys.allRequests}
    </Link>
  )
  const connect = (
    <Link to="/connect" className={buttonClass('plain')}>
      {keys.connect}
    </Link>
  )
  return (
    <Panel title={keys.recent} actions={all} padding="flush">
      <QueryView query={query} lines={5}>
        {({ items }) => (
          <LatestRequests
            caption={keys.recent}
            requests={items}
            without={['key']}
            none={{ title: keys.noRequests, ...(!isOver && { text: keys.noRequestsText, action: connect }) }}
          />
        )}
      </QueryView>
    </Panel>
  )
}

/** Who made this key, and what was done to it since. */
function KeyAuditLog({ keyId }: { keyId: string }) {
  const { keys } = useMessages()
  const query = useAudit(keyId)
  return <AuditPanel title={keys.auditLog} query={query} of="one" />
}
