import type { Agent, AgentEvent, Turn } from '../agents/agent.ts'
import { fromRunnable, type Runnable } from '../agents/function.ts'
import { A2AError } from '../protocol/errors.ts'
import { anonymous } from '../protocol/operations.ts'
import { textOf } from '../protocol/task.ts'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  SubscribeToTaskRequest,
  Task,
} from '../protocol/types.ts'
import type { Authenticator } from '../server/authenticator.ts'
import { toFetch } from '../server/fetch.ts'
import { type Listening, runServer } from '../server/node/run.ts'
import { createServer, type Server } from '../server/server.ts'
import { newId } from '../shared/ids.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { fromTaskStore } from '../store/custom.ts'
import type { TaskStore } from '../store/task-store.ts'
import { type AuthConfig, toAuthenticator, withCard } from './a2a-server.ts'
import {
  type FullRequestHandler,
  fromRequestHandler,
  type HandlerEvents,
  RequestHandler,
  type ServerCallContext,
  toRequestHandler,
} from './request-handler.ts'
import { AgentCard, type CardDraft, cardMembers, infoFromCard, type SkillDraft } from './types.ts'

/** What `createA2AServer` makes a server of; every field of a card can stand here. */
export interface WorkshopOptions extends Partial<CardDraft> {
  /** Answers with text; without one the server echoes. */
  readonly agent?: Runnable
  /** Where tasks are kept; in memory if absent. */
  readonly taskStore?: TaskStore
  /** Who may call; anyone if absent. */
  readonly authentication?: AuthConfig
}

const workshopOptions: OptionTable<WorkshopOptions> = {
  agent: 'object',
  taskStore: 'object',
  authentication: 'any',
  ...cardMembers,
  name: 'string',
}

/** A server made by `createA2AServer`, to be changed while it runs. */
export interface WorkshopServer {
  /** The card as it is now. */
  readonly agentCard: AgentCard
  /** Adds a skill to the card. */
  addSkill(skill: SkillDraft): void
  /** Answers messages by another agent from now on. */
  setAgent(agent: Runnable): void
  /** Gives the application: mount its `fetch` in a framework, or let it listen. One server is behind all of them. */
  createApp(): WorkshopApp
}

/** The application of a `createA2AServer`: mount it, or let it listen. */
export interface WorkshopApp {
  /** Answers a web-standard request. */
  fetch(request: Request): Promise<Response>
  /** Listens on a port, 0 for any free one; all interfaces where no host is named. */
  listen(port: number, host?: string): Promise<Listening>
  /** Stops it. */
  close(): Promise<void>
}

const echoSkill: SkillDraft = {
  id: 'echo',
  name: 'Echo',
  description: 'Echoes the message back',
}

/**
 * Makes a server around an object with `run(text)`: `createA2AServer({ agent, name, skills }).createApp()`. No field
 * is required.
 */
export function createA2AServer(options: WorkshopOptions = {}): WorkshopServer {
  checkOptions('createA2AServer', options, workshopOptions)
  const { agent: first, taskStore, authentication, ...card } = options
  const authenticator = authentication === undefined ? undefined : toAuthenticator(authentication)
  let runnable = first
  let skills = card.skills ?? (first ? [] : [echoSkill])
  const applications = new Applications(() =>
    createServer({
      agents: [agent],
      enforceInputModes: false,
      publicUrl: agentCard().url,
      pushNotifications: card.capabilities?.pushNotifications ?? false,
      ...(taskStore && {
        store: fromTaskStore(taskStore, { scope: { agent: id, tenant: '', owner: '' } }),
      }),
      ...(authenticator && { auth: { authenticators: [authenticator] } }),
    }),
  )

  const agentCard = (): AgentCard =>
    AgentCard({
      description: 'A2A Protocol Agent',
      ...card,
      name: card.name ?? 'A2A Agent',
      skills,
    })
  const agent: Agent = {
    info: () => infoFromCard(agentCard()),
    process: (message, turn) => answer(runnable, message, turn),
  }
  const id = infoFromCard(agentCard()).id

  return {
    get agentCard() {
      return agentCard()
    },
    addSkill(skill) {
      skills = [...skills, skill]
      // The card is read again. A server that could not be opened says so where it is opened.
      applications.opened?.then(({ server }) => server.setAgents([agent])).catch(() => {})
    },
    setAgent(next) {
      runnable = next
    },
    createApp: () => applications.createApp(),
  }
}

/** What `A2AFastAPIApplication` serves. */
export interface ApplicationOptions {
  /** Who answers; its `url` is where clients reach the application. */
  readonly agentCard: CardDraft
  /** What answers. */
  readonly httpHandler: RequestHandler
}

/** What `A2AFastAPIApplication` makes. */
export interface A2AApplication {
  /** Gives the application: mount its `fetch` in a framework, or let it listen. */
  build(): WorkshopApp
}

const applicationOptions: OptionTable<ApplicationOptions> = {
  agentCard: 'object!',
  httpHandler: 'object!',
}

/**
 * Makes an application of a request handler and its card: `A2AFastAPIApplication({ agentCard, httpHandler }).build()`. No
 * framework is behind it: mount its `fetch`, or let it listen.
 */
export function A2AFastAPIApplication(options: ApplicationOptions): A2AApplication {
  checkOptions('A2AFastAPIApplication', options, applicationOptions)
  const { agentCard, httpHandler } = options
  const agent = withCard(fromRequestHandler(httpHandler), agentCard)
  const applications = new Applications(() =>
    createServer({
      agents: [agent],
      enforceInputModes: false,
      ...(agentCard.url !== undefined && { publicUrl: agentCard.url }),
    }),
  )
  return { build: () => applications.createApp() }
}

async function* answer(
  runnable: Runnable | undefined,
  message: Message,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const text = textOf(message.parts)
  yield turn.status('TASK_STATE_WORKING')
  const answered = runnable ? await runOrFail(runnable, text) : `Echo: ${text}`
  const name = runnable ? 'response' : 'echo'
  yield turn.artifact({ artifactId: newId(), name, parts: [{ text: answered }] })
}

/** A failed status says `Error: …`. Only words that are meant for the caller stand there. */
async function runOrFail(runnable: Runnable, text: string): Promise<string> {
  try {
    return await runnable.run(text)
  } catch (thrown) {
    const words = thrown instanceof A2AError ? thrown.message : 'the agent could not answer'
    throw new A2AError('processingError', `Error: ${words}`, { cause: thrown })
  }
}

type Opened = { readonly server: Server; readonly fetch: ReturnType<typeof toFetch> }

/** Applications around one server, which is opened when the first of them is used. */
class Applications {
  readonly #create: () => Promise<Server>
  #opened: Promise<Opened> | undefined

  constructor(create: () => Promise<Server>) {
    this.#create = create
  }

  /** The server, where it is open. */
  get opened(): Promise<Opened> | undefined {
    return this.#opened
  }

  createApp(): WorkshopApp {
    const open = (): Promise<Opened> =>
      (this.#opened ??= this.#create().then((server) => ({ server, fetch: toFetch(server) })))
    return {
      fetch: async (request) => (await open()).fetch(request),
      listen: async (port, host) => {
        checkArgument('listen', 'the port', port, 'number')
        const { server } = await open()
        try {
          return await runServer(server, { port, ...(host && { host }) })
        } catch (error) {
          this.#opened = undefined // it is closed; another port gets another one
          throw error
        }
      },
      close: async () => (await open()).server.close(),
    }
  }
}

/**
 * A request handler around an object with `run(text)` and the store that keeps its tasks. Extend it: a method that is
 * overridden is the one that a server calls. Each stands for itself, so what a subclass does in `onMessageSend` is not
 * done for those who stream.
 */
export class WorkshopRequestHandler extends RequestHandler implements FullRequestHandler {
  /** What answers. */
  readonly agent: Runnable
  /** Where tasks are kept. */
  readonly taskStore: TaskStore
  readonly #handler: FullRequestHandler

  constructor(agent: Runnable, taskStore: TaskStore) {
    super()
    this.agent = agent
    this.taskStore = taskStore
    this.#handler = fromAgent(fromRunnable(agent), taskStore)
  }

  onMessageSend(request: SendMessageRequest, context: ServerCallContext): Promise<Task | Message> {
    return this.#handler.onMessageSend(request, context)
  }

  override onMessageSendStream(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): HandlerEvents {
    return this.#handler.onMessageSendStream(request, context)
  }

  onGetTask(request: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.#handler.onGetTask(request, context)
  }

  override onListTasks(
    request: ListTasksRequest,
    context: ServerCallContext,
  ): Promise<ListTasksResponse> {
    return this.#handler.onListTasks(request, context)
  }

  onCancelTask(request: CancelTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.#handler.onCancelTask(request, context)
  }

  override onResubscribe(
    request: SubscribeToTaskRequest,
    context: ServerCallContext,
  ): HandlerEvents {
    return this.#handler.onResubscribe(request, context)
  }
}

/** Puts an agent behind the methods of a request handler, its tasks in the given store or in memory. */
export function fromAgent(agent: Agent, taskStore?: TaskStore): FullRequestHandler {
  checkArgument('fromAgent', 'the agent', agent, 'object')
  checkArgument('fromAgent', 'info', agent.info, 'function')
  return toRequestHandler(open(agent, taskStore).then((server) => server.dispatch()))
}

/** In one process the caller is who the context says. */
const byContext: Authenticator = {
  name: 'context',
  challenge: 'Context',
  authenticate: ({ auth }) => (auth?.userId ? auth : anonymous),
}

async function open(agent: Agent, taskStore?: TaskStore): ReturnType<typeof createServer> {
  const { id } = await agent.info()
  const scope = { agent: id, tenant: '', owner: '' }
  return createServer({
    agents: [agent],
    auth: { authenticators: [byContext], required: false },
    ...(taskStore && { store: fromTaskStore(taskStore, { scope }) }),
  })
}
