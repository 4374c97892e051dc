import { Command } from 'commander'
import { addAccountsActivate } from './accounts-activate.ts'
import { addAccountsCreate } from './accounts-create.ts'
import { addAccountsList } from './accounts-list.ts'
import { addAccountsShow } from './accounts-show.ts'
import { addAccountsSuspend } from './accounts-suspend.ts'
import { addCatalog } from './catalog.ts'
import { addCheck } from './check.ts'
import type { CliDeps } from './cli-deps.ts'
import { addCodesCreate } from './codes-create.ts'
import { addCodesList } from './codes-list.ts'
import { addCodesRedeem } from './codes-redeem.ts'
import { addCodesWithdraw } from './codes-withdraw.ts'
import { type CommandContext, createCommandContext } from './command-context.ts'
import { addDbVerify } from './db-verify.ts'
import { addInit } from './init.ts'
import { addKeysCaps } from './keys-caps.ts'
import { addKeysChange } from './keys-change.ts'
import { addKeysCreate } from './keys-create.ts'
import { addKeysDisable } from './keys-disable.ts'
import { addKeysEnable } from './keys-enable.ts'
import { addKeysList } from './keys-list.ts'
import { addKeysRename } from './keys-rename.ts'
import { addKeysRevoke } from './keys-revoke.ts'
import { addKeysRotate } from './keys-rotate.ts'
import { addKeysShow } from './keys-show.ts'
import { addModels } from './models.ts'
import { addPeopleDisable } from './people-disable.ts'
import { addPeopleEnable } from './people-enable.ts'
import { addPeopleInvite } from './people-invite.ts'
import { addPeopleList } from './people-list.ts'
import { addPlansAssign } from './plans-assign.ts'
import { addPlansEnd } from './plans-end.ts'
import { addPlansList } from './plans-list.ts'
import { addPlansShow } from './plans-show.ts'
import { addRouteExplain } from './route-explain.ts'
import { addServe } from './serve.ts'
import { addStatus } from './status.ts'
import { addTrace } from './trace.ts'
import { addUpstreamsList } from './upstreams-list.ts'
import { addUpstreamsTest } from './upstreams-test.ts'
import { addWalletAdjust } from './wallet-adjust.ts'
import { addWalletCredit } from './wallet-credit.ts'
import { addWalletEntries } from './wallet-entries.ts'
import { addWalletRefund } from './wallet-refund.ts'
import { addWalletShow } from './wallet-show.ts'
import { addWalletWishes } from './wallet-wishes.ts'

/** Every command there is, with what each does; nothing runs before it is parsed. */
export function createProgram(deps: CliDeps): { readonly program: Command; readonly context: CommandContext } {
  const program = bareProgram(deps)
  const context = createCommandContext(deps, program)
  addCommands(program, context)
  return { program, context }
}

function bareProgram({ terminal }: CliDeps): Command {
  return new Command('millrace')
    .description('A self-hosted gateway for language models. Without a command it starts the server.')
    .option('-c, --config <file>', 'the configuration file')
    .option('--data <folder>', 'the data folder')
    .option('--json', 'print the answer as JSON')
    .option('-V, --version', 'print the version')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      getOutHasColors: () => terminal.colours.out,
      getErrHasColors: () => terminal.colours.err,
    })
    .showHelpAfterError('(see --help)')
    .helpCommand('help [command]', 'say what a command does')
}

function addCommands(program: Command, context: CommandContext): void {
  addServe(program, context)
  const accounts = program.command('accounts').description('who uses this server')
  addAccountsCreate(accounts, context)
  addAccountsList(accounts, context)
  addAccountsShow(accounts, context)
  addAccountsSuspend(accounts, context)
  addAccountsActivate(accounts, context)
  const wallet = program.command('wallet').description('prepaid balances')
  addWalletCredit(wallet, context)
  addWalletRefund(wallet, context)
  addWalletAdjust(wallet, context)
  addWalletShow(wallet, context)
  addWalletEntries(wallet, context)
  addWalletWishes(wallet, context)
  const keys = program.command('keys').description('the keys that programs call with')
  addKeysCreate(keys, context)
  addKeysList(keys, context)
  addKeysShow(keys, context)
  addKeysRevoke(keys, context)
  addKeysDisable(keys, context)
  addKeysEnable(keys, context)
  addKeysRename(keys, context)
  addKeysCaps(keys, context)
  addKeysChange(keys, context)
  addKeysRotate(keys, context)
  const codes = program.command('codes').description('codes that are worth money to whoever redeems them first')
  addCodesCreate(codes, context)
  addCodesList(codes, context)
  addCodesWithdraw(codes, context)
  addCodesRedeem(codes, context)
  const plans = program.command('plans').description('Builder subscriptions: what builder keys draw on')
  addPlansList(plans, context)
  addPlansAssign(plans, context)
  addPlansEnd(plans, context)
  addPlansShow(plans, context)
  const people = program.command('people').description('who signs in to the console')
  addPeopleInvite(people, context)
  addPeopleList(people, context)
  addPeopleDisable(people, context)
  addPeopleEnable(people, context)
  const route = program.command('route').description('which lane answers')
  addRouteExplain(route, context)
  const upstreams = program.command('upstreams').description('the providers behind the models')
  addUpstreamsList(upstreams, context)
  addUpstreamsTest(upstreams, context)
  addModels(program, context)
  addCatalog(program, context)
  addStatus(program, context)
  addTrace(program, context)
  const db = program.command('db').description('the database')
  addDbVerify(db, context)
  addCheck(program, context)
  addInit(program, context)
}
