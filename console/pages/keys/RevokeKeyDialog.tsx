import { useAct } from '../../questions/useAct.ts'
import { ConfirmByName } from '../../ui/ConfirmByName.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import type { KeyFacts } from './own-key.ts'

/** For good, so whoever does it types which. */
export function RevokeKeyDialog({ keyItem, onClose }: { keyItem: KeyFacts; onClose: () => void }) {
  const { keys } = useWords()
  const revoke = useAct('POST /keys/:key/revoke', {
    changes: ['GET /keys', 'GET /keys/:key', 'GET /audit', 'GET /overview'],
    done: keys.revoked,
    onDone: onClose,
  })
  return (
    <ConfirmByName
      open
      onClose={onClose}
      title={keys.revokeTitle}
      text={
        <div className="grid gap-2">
          <p>{keys.revokeText}</p>
          {keyItem.former !== null && <p>{keys.revokeFormer}</p>}
          {keyItem.playground && <p>{keys.revokePlayground}</p>}
        </div>
      }
      name={keyItem.name}
      action={keys.revokeGo}
      busy={revoke.isPending}
      onConfirm={() => revoke.mutate({ params: { key: keyItem.id } })}
    />
  )
}
