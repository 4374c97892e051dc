import { KeyRound, Pencil, Plus, TriangleAlert } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { runMutation } from '../../lib/api-client.ts'
import { encodeQr, qrPath } from '../../lib/qr-code.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation, useSecretMutation } from '../../queries/mutations.ts'
import { useDeviceMutation } from '../../queries/passkeys.ts'
import { useFactors } from '../../queries/session.ts'
import { Button, IconButton } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { Badge, Empty, Panel } from '../../ui/layout.tsx'
import { hasPasskeys } from '../../ui/PasskeyButton.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Time, TimeText } from '../../ui/values.tsx'

type Factors = AnswerOf<'GET /factors'>
type Passkey = Factors['passkeys'][number]
type TotpSecret = AnswerOf<'POST /factors/totp'>

/** What a dialog shows. Recovery codes and the secret of an app are only here. */
type Opened =
  | { readonly what: 'totp'; readonly secret: TotpSecret }
  | { readonly what: 'codes'; readonly codes: readonly string[] }
  | { readonly what: 'new-passkey' | 'remove-totp' | 'renew-codes' }
  | { readonly what: 'rename' | 'remove'; readonly passkey: Passkey }

export function FactorPanels() {
  const { settings } = useMessages()
  const query = useFactors()
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const showCodes = (codes: readonly string[] | null) =>
    setOpened(codes === null ? undefined : { what: 'codes', codes })
  const begin = useSecretMutation('POST /factors/totp', (secret) => setOpened({ what: 'totp', secret }))
  const addPasskey = (
    <Button onClick={() => setOpened({ what: 'new-passkey' })}>
      <Plus aria-hidden="true" />
      {settings.factors.addPasskey}
    </Button>
  )
  const has = (query.data?.passkeys.length ?? 0) > 0
  return (
    <>
      <Panel title={settings.factors.title} about={settings.factors.about}>
        <QueryView query={query}>
          {(factors) => (
            <AppFactor factors={factors} busy={begin.isPending} onBegin={() => begin.mutate({})} onOpen={setOpened} />
          )}
        </QueryView>
      </Panel>
      <Panel
        title={settings.factors.passkeys}
        about={settings.factors.passkeysAbout}
        actions={has && hasPasskeys() && addPasskey}
        padding="flush"
      >
        <QueryView query={query}>
          {({ passkeys }) =>
            passkeys.length === 0 ? (
              <Empty
                icon={KeyRound}
                title={settings.factors.noPasskeys}
                text={hasPasskeys() ? settings.factors.noPasskeysText : settings.factors.passkeysImpossible}
                {...(hasPasskeys() && { action: addPasskey })}
              />
            ) : (
              <PasskeyTable passkeys={passkeys} onOpen={setOpened} />
            )
          }
        </QueryView>
      </Panel>
      {opened?.what === 'totp' && <AppDialog secret={opened.secret} onClose={close} onAdded={showCodes} />}
      {opened?.what === 'codes' && <CodesDialog codes={opened.codes} onClose={close} />}
      {opened?.what === 'new-passkey' && <NewPasskeyDialog onClose={close} onAdded={showCodes} />}
      {opened?.what === 'rename' && <RenameDialog passkey={opened.passkey} onClose={close} />}
      {opened !== undefined && 'passkey' in opened && opened.what === 'remove' && (
        <RemovePasskeyDialog passkey={opened.passkey} onClose={close} />
      )}
      {opened?.what === 'remove-totp' && <RemoveAppDialog onClose={close} />}
      {opened?.what === 'renew-codes' && <RenewCodesDialog onClose={close} onRenewed={showCodes} />}
    </>
  )
}

interface AppFactorProps {
  readonly factors: Factors
  readonly busy: boolean
  readonly onBegin: () => void
  readonly onOpen: (opened: Opened) => void
}

function AppFactor({ factors: { totp, passkeys, recovery_codes_left: left }, busy, onBegin, onOpen }: AppFactorProps) {
  const { factors } = useMessages().settings
  return (
    <div className="grid gap-4 py-1">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="grid gap-0.5">
          <p className="flex items-center gap-2 font-medium">
            {factors.app}
            <Badge tone={totp === null ? 'plain' : 'good'}>{totp === null ? factors.off : factors.on}</Badge>
          </p>
          <p className="text-sm text-soft">
            {totp === null ? factors.appAbout : <TimeText message={factors.since} at={totp.since} />}
          </p>
        </div>
        {totp === null ? (
          <Button onClick={onBegin} busy={busy}>
            {factors.addApp}
          </Button>
        ) : (
          <Button tone="danger" onClick={() => onOpen({ what: 'remove-totp' })}>
            {factors.removeApp}
          </Button>
        )}
      </div>
      {(totp !== null || passkeys.length > 0) && (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <div className="grid gap-0.5">
            <p className="font-medium">{factors.codes}</p>
            <p className="text-sm text-soft">{factors.codesLeft(String(left))}</p>
          </div>
          <Button onClick={() => onOpen({ what: 'renew-codes' })}>{factors.newCodes}</Button>
        </div>
      )}
    </div>
  )
}

function PasskeyTable({ passkeys, onOpen }: { passkeys: readonly Passkey[]; onOpen: (opened: Opened) => void }) {
  const { settings, common } = useMessages()
  const { factors } = settings
  const columns: Column<Passkey>[] = [
    {
      id: 'name',
      header: factors.name,
      narrow: 'title',
      cell: ({ name }) => <span className="font-medium">{name}</span>,
    },
    { id: 'created', header: factors.added, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      id: 'used',
      header: factors.lastUsed,
      cell: ({ last_used_at }) => (last_used_at === null ? factors.never : <Time at={last_used_at} />),
    },
    {
      id: 'actions',
      header: common.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: (passkey) => (
        <span className="flex justify-end gap-1.5">
          <IconButton
            icon={Pencil}
            label={factors.renameOf(passkey.name)}
            onClick={() => onOpen({ what: 'rename', passkey })}
          />
          <Button aria-label={factors.removeOf(passkey.name)} onClick={() => onOpen({ what: 'remove', passkey })}>
            {factors.remove}
          </Button>
        </span>
      ),
    },
  ]
  return <DataTable caption={factors.passkeys} columns={columns} rows={passkeys} rowId={({ id }) => id} />
}

interface AddedProps {
  readonly onClose: () => void
  /** Null: the person has recovery codes already. */
  readonly onAdded: (codes: readonly string[] | null) => void
}

function AppDialog({ secret: { secret, uri }, onClose, onAdded }: AddedProps & { secret: TotpSecret }) {
  const { factors } = useMessages().settings
  const { common } = useMessages()
  const [code, setCode] = useState('')
  const confirm = useSecretMutation('POST /factors/totp/confirm', ({ codes }) => onAdded(codes))
  return (
    <Dialog title={factors.addApp} open onClose={onClose}>
      <Form onSend={() => confirm.mutate({ body: { code: code.trim() } })}>
        <p className="text-soft">{factors.scan}</p>
        <QrCode text={uri} label={factors.qrCode} />
        <div className="grid gap-1">
          <p className="text-sm text-soft">{factors.orType}</p>
          <div className="flex items-center gap-1">
            <code className="min-w-0 break-all select-all">{secret.replace(/.{4}(?=.)/g, '$& ')}</code>
            <CopyButton text={secret} label={factors.copySecret} />
          </div>
        </div>
        <TextField
          label={common.code}
          hint={factors.confirmHint}
          data-autofocus
          required
          inputMode="numeric"
          autoComplete="one-time-code"
          value={code}
          onText={setCode}
        />
        <FormEnd mutation={confirm} go={factors.confirmApp} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

/** Four modules of white around it; scanners need them, in the dark theme too. */
const MARGIN = 4

function QrCode({ text, label }: { text: string; label: string }) {
  const matrix = useMemo(() => encodeQr(text), [text])
  const size = matrix.length + 2 * MARGIN
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`${-MARGIN} ${-MARGIN} ${size} ${size}`}
      shapeRendering="crispEdges"
      className="mx-auto w-full max-w-56 rounded-lg"
    >
      <rect x={-MARGIN} y={-MARGIN} width={size} height={size} fill="#fff" />
      <path d={qrPath(matrix)} fill="#000" />
    </svg>
  )
}

function CodesDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const { settings, common } = useMessages()
  const { factors } = settings
  return (
    <Dialog title={factors.codesTitle} open onClose={onClose} closing="by-button">
      <p className="flex gap-2.5 rounded-lg bg-held-wash px-3 py-2 font-medium text-held">
        <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
        {factors.codesText}
      </p>
      <ul className="grid grid-cols-1 gap-x-4 gap-y-1 rounded-lg border border-line bg-sunken p-3 sm:grid-cols-2">
        {codes.map((code) => (
          <li key={code}>
            <code className="select-all">{code}</code>
          </li>
        ))}
      </ul>
      <DialogActions>
        <CopyButton text={codes.join('\n')} label={factors.copyCodes} look="button" />
        <Button tone="primary" onClick={onClose}>
          {common.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function NewPasskeyDialog({ onClose, onAdded }: AddedProps) {
  const { factors } = useMessages().settings
  const [name, setName] = useState('')
  const add = useDeviceMutation('POST /passkeys', async () => {
    const { makePasskey } = await import('../../lib/passkeys.ts')
    const made = await makePasskey(await runMutation('POST /passkeys/challenge', {}))
    onAdded((await runMutation('POST /passkeys', { body: { name: name.trim(), ...made } })).codes)
  })
  return (
    <Dialog title={factors.addPasskey} open onClose={onClose}>
      <Form onSend={() => add.mutate()}>
        <p className="text-soft">{factors.addPasskeyText}</p>
        <NameField value={name} onText={setName} />
        <FormEnd mutation={add} go={factors.addPasskey} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function NameField({ value, onText }: { value: string; onText: (name: string) => void }) {
  const { factors } = useMessages().settings
  return (
    <TextField
      label={factors.name}
      hint={factors.nameHint}
      data-autofocus
      required
      maxLength={60}
      value={value}
      onText={onText}
    />
  )
}

interface PasskeyDialogProps {
  readonly passkey: Passkey
  readonly onClose: () => void
}

function RenameDialog({ passkey, onClose }: PasskeyDialogProps) {
  const { settings, common } = useMessages()
  const [name, setName] = useState(passkey.name)
  const rename = useApiMutation('PATCH /passkeys/:passkey', { problem: 'shown-here', onDone: onClose })
  return (
    <Dialog title={settings.factors.renameOf(passkey.name)} open onClose={onClose}>
      <Form onSend={() => rename.mutate({ params: { passkey: passkey.id }, body: { name: name.trim() } })}>
        <NameField value={name} onText={setName} />
        <FormEnd mutation={rename} go={common.save} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function RemovePasskeyDialog({ passkey, onClose }: PasskeyDialogProps) {
  const { factors } = useMessages().settings
  const remove = useApiMutation('POST /passkeys/:passkey/remove', {
    ...{ done: factors.removed, problem: 'shown-here', onDone: onClose },
  })
  return (
    <Dialog title={factors.removeOf(passkey.name)} open onClose={onClose}>
      <Form onSend={() => remove.mutate({ params: { passkey: passkey.id } })}>
        <p className="text-soft">{factors.removePasskeyText}</p>
        <FormEnd mutation={remove} go={factors.remove} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function RemoveAppDialog({ onClose }: { onClose: () => void }) {
  const { factors } = useMessages().settings
  const remove = useApiMutation('POST /factors/totp/remove', {
    ...{ done: factors.removed, problem: 'shown-here', onDone: onClose },
  })
  return (
    <Dialog title={factors.removeApp} open onClose={onClose}>
      <Form onSend={() => remove.mutate({})}>
        <p className="text-soft">{factors.removeAppText}</p>
        <FormEnd mutation={remove} go={factors.remove} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

interface RenewCodesProps {
  readonly onClose: () => void
  readonly onRenewed: (codes: readonly string[]) => void
}

function RenewCodesDialog({ onClose, onRenewed }: RenewCodesProps) {
  const { factors } = useMessages().settings
  const renew = useSecretMutation('POST /factors/recovery-codes', ({ codes }) => onRenewed(codes))
  return (
    <Dialog title={factors.newCodes} open onClose={onClose}>
      <Form onSend={() => renew.mutate({})}>
        <p className="text-soft">{factors.newCodesText}</p>
        <FormEnd mutation={renew} go={factors.newCodes} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
