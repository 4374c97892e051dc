import { useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Button } from '../../ui/Button.tsx'
import { Field, Form } from '../../ui/Form.tsx'
import { TextInput } from '../../ui/inputs.tsx'
import { Page, PageHeader, Panel } from '../../ui/layout.tsx'

const REQUEST_ID = /^req_\w{1,60}$/

export function FindRequestPage() {
  const { shell } = useMessages()
  const { found } = useMessages().operator
  const navigate = useNavigate()
  const field = useRef<HTMLInputElement>(null)
  const [id, setId] = useState('')
  const [wrong, setWrong] = useState(false)
  useLetterKey('/', shell.shortcuts.search, () => field.current?.focus())
  const find = () => {
    const request = id.trim()
    if (!REQUEST_ID.test(request)) return setWrong(true)
    void navigate({ to: '/operate/requests/$request', params: { request } })
  }
  return (
    <Page>
      <PageHeader title={shell.pageTitles.findRequest} about={found.about} />
      <Panel>
        <Form className="flex max-w-2xl flex-wrap items-start gap-3" onSend={find}>
          <div className="min-w-56 flex-1">
            <Field label={found.id} hint={found.hint} error={wrong ? found.idWrong : undefined}>
              {(control) => (
                <TextInput
                  {...control}
                  ref={field}
                  autoFocus
                  required
                  spellCheck={false}
                  className="font-mono"
                  placeholder={found.idExample}
                  value={id}
                  onChange={(event) => {
                    setId(event.target.value)
                    setWrong(false)
                  }}
                />
              )}
            </Field>
          </div>
          <Button tone="primary" type="submit" className="mt-6 min-h-9">
            {found.find}
          </Button>
        </Form>
      </Panel>
    </Page>
  )
}
