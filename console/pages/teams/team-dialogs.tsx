import { useState } from 'react'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import type { Team } from '../../queries/teams.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { CapFields } from '../cap-forms/cap-dialogs.tsx'
import { type CapField, draftOfCaps, readCapDraft } from '../cap-forms/cap-draft.ts'

const NAME_MAX = 100

export function CreateTeamDialog({ onClose }: { onClose: () => void }) {
  const { teams } = useMessages()
  const [name, setName] = useState('')
  const [draft, setDraft] = useState(() => draftOfCaps({}))
  const [wrong, setWrong] = useState<readonly CapField[]>([])
  const [isNameless, setIsNameless] = useState(false)
  const create = useApiMutation('POST /teams', { done: teams.created, problem: 'shown-here', onDone: onClose })
  const send = () => {
    const read = readCapDraft({}, draft)
    setWrong(read.wrong)
    setIsNameless(name.trim() === '')
    if (read.wrong.length === 0 && name.trim() !== '') create.mutate({ body: { name: name.trim(), caps: read.body } })
  }
  return (
    <Dialog title={teams.create} open onClose={onClose} width="wide">
      <Form className="grid gap-5" onSend={send} validatedBy="send">
        <TextField
          label={teams.name}
          data-autofocus
          error={isNameless ? teams.nameWrong : undefined}
          maxLength={NAME_MAX}
          value={name}
          onText={setName}
        />
        <CapFields draft={draft} wrong={wrong} onChange={setDraft} />
        <FormEnd mutation={create} go={teams.make} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function RenameTeamDialog({ team, onClose }: { team: Team; onClose: () => void }) {
  const { teams, common } = useMessages()
  const [name, setName] = useState(team.name)
  const rename = useApiMutation('PATCH /teams/:team', { done: teams.changed, problem: 'shown-here', onDone: onClose })
  return (
    <Dialog title={teams.rename} open onClose={onClose}>
      <Form onSend={() => rename.mutate({ params: { team: team.id }, body: { name: name.trim() } })}>
        <TextField label={teams.name} data-autofocus required maxLength={NAME_MAX} value={name} onText={setName} />
        <FormEnd mutation={rename} go={common.save} disabled={name.trim() === ''} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function ArchiveTeamDialog({ team, onClose }: { team: Team; onClose: () => void }) {
  const { teams } = useMessages()
  const isArchived = team.archived_at !== null
  const change = useApiMutation('PATCH /teams/:team', { done: teams.changed, problem: 'shown-here', onDone: onClose })
  return (
    <Dialog title={isArchived ? teams.open : teams.archive} open onClose={onClose}>
      <Form onSend={() => change.mutate({ params: { team: team.id }, body: { archived: !isArchived } })}>
        <p className="text-soft">{isArchived ? teams.openText : teams.archiveText}</p>
        <FormEnd mutation={change} go={isArchived ? teams.open : teams.archive} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
