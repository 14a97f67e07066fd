/**
 * What tau2 tells the models that play its users and judge its conversations: its own words, to the character
 * (`data/tau2/user_simulator` and `evaluator/evaluator_nl_assertions.py`).
 */
import type { ConversationMessage, DomainPrompts, EvalTask, JudgePrompt } from '../domain/domain.ts'
import { repr } from './python/text.ts'

/** The prompts of every domain of tau2. */
export const tau2Prompts: DomainPrompts = {
  user: (task, hasTools) =>
    `${hasTools ? guidelinesWithTools : guidelines}\n\n<scenario>\n${scenarioOf(task)}\n</scenario>`,
  judge: (statements, messages) => judgePrompt(statements, messages),
}

/** `str(task.user_scenario)`. */
function scenarioOf({ user_scenario: scenario }: EvalTask): string {
  if (!scenario) return 'None'
  const { persona, instructions } = scenario
  const told = typeof instructions === 'string' ? instructions : structured(instructions)
  return [
    ...(typeof persona === 'string' ? ['Persona:', indent(persona)] : []),
    'Instructions:',
    indent(told),
  ].join('\n')
}

type Instructions = Exclude<NonNullable<EvalTask['user_scenario']>['instructions'], string>

function structured(instructions: Instructions): string {
  const { domain, reason_for_call, known_info, unknown_info, task_instructions } = instructions
  const part = (title: string, text: unknown): string => `${title}:\n${indent(String(text))}`
  return [
    `Domain: ${domain}`,
    part('Reason for call', reason_for_call),
    ...(known_info === null || known_info === undefined ? [] : [part('Known info', known_info)]),
    ...(unknown_info === null || unknown_info === undefined
      ? []
      : [part('Unknown info', unknown_info)]),
    part('Task instructions', task_instructions),
  ].join('\n')
}

/** Python's `textwrap.indent` with a tab: lines of nothing but blanks stay as they are. */
function indent(text: string): string {
  return text.replace(/^(?=.*\S)/gm, '\t')
}

function judgePrompt(
  statements: readonly string[],
  messages: readonly ConversationMessage[],
): JudgePrompt {
  const trajectory = messages.map(({ role, content }) => `${role}: ${content ?? 'None'}`).join('\n')
  const user = `
        conversation:
        ${trajectory}
        
        expectedOutcomes:
        ${repr([...statements])}
        `
  return { system: judgeInstructions, user }
}

const judgeInstructions = `
        TASK
        - You will be given a list of expected outcomes and a conversation that was collected during a test case run.
        - The conversation is between an agent and a customer.
        - Your job is to evaluate whether the agent satisfies each of the expected outcomes.
        - Grade each expected outcome individually.

        FORMAT
        - Your response should be a JSON object with the following fields:
        - \`reasoning\`: a short explanation for your classification
        - \`metExpectation\`: \`true\` if the agent satisfies the expected outcomes, \`false\` otherwise
        - \`expectedOutcome\`: repeat the expectation from the input that you are grading
        
        Example response structure:
        {
            "results": [
                {
                    "expectedOutcome": "<one of the expected outcomes from the input>",
                    "reasoning": "<reasoning trace>",
                    "metExpectation": <false or true>,
                }
            ]
        }
        `

const guidelines = `# User Simulation Guidelines
You are playing the role of a customer contacting a customer service representative. 
Your goal is to simulate realistic customer interactions while following specific scenario instructions.

## Core Principles
- Generate one message at a time, maintaining natural conversation flow.
- Strictly follow the scenario instructions you have received.
- Never make up or hallucinate information not provided in the scenario instructions. Information that is not provided in the scenario instructions should be considered unknown or unavailable.
- Avoid repeating the exact instructions verbatim. Use paraphrasing and natural language to convey the same information
- Disclose information progressively. Wait for the agent to ask for specific information before providing it.

## Task Completion
- The goal is to continue the conversation until the task is complete.
- If the instruction goal is satisified, generate the '###STOP###' token to end the conversation.
- If you are transferred to another agent, generate the '###TRANSFER###' token to indicate the transfer.
- If you find yourself in a situation in which the scenario does not provide enough information for you to continue the conversation, generate the '###OUT-OF-SCOPE###' token to end the conversation.
Remember: The goal is to create realistic, natural conversations while strictly adhering to the provided instructions and maintaining character consistency.
`

const guidelinesWithTools = `# User Simulation Guidelines

You are playing the role of a customer contacting a customer service representative agent. 
Your goal is to simulate realistic customer interactions while following specific scenario instructions.
You have some tools to perform the actions on your end that might be requested by the agent to diagnose and resolve your issue.

## Core Principles
- Generate one message at a time, maintaining natural conversation flow.
- At each turn you can either:
    - Send a message to the agent.
    - Make a tool call to perform an action requested by the agent.
    - You cannot do both at the same time.
- Strictly follow the scenario instructions you have received.
- Never make up or hallucinate information not provided in the scenario instructions. Information that is not provided in the scenario instructions should be considered unknown or unavailable.
- Never make up the results of tool calls that the agent has requested, you must ground your responses based on the results of tool calls if the agent has requested.
- If you made an error in a tool call and get an error message, fix the error and try again.
- All the information you provide to the agent must be grounded in the information provided in the scenario instructions or the results of tool calls.
- Avoid repeating the exact instructions verbatim. Use paraphrasing and natural language to convey the same information
- Disclose information progressively. Wait for the agent to ask for specific information before providing it.
- Only call a tool if the agent has requested it or if it is necessary to answer a question the agent has asked. Ask clarifying questions if you do not know what action to take.
- If the agent asks multiple actions to perform, state that you cannot perform multiple actions at once, and ask the agent to instruct you one action at a time.
- Your messages when performing tool calls will not be displayed to the agent, only the messages without tool calls will be displayed to the agent.

## Task Completion
- The goal is to continue the conversation until the task is complete.
- If the instruction goal is satisified, generate the '###STOP###' token to end the conversation.
- If you have been transferred to another agent, generate the '###TRANSFER###' token to indicate the transfer. Only do this after the agent has clearly indicated that you are being transferred.
- If you find yourself in a situation in which the scenario does not provide enough information for you to continue the conversation, generate the '###OUT-OF-SCOPE###' token to end the conversation.
Remember: The goal is to create realistic, natural conversations while strictly adhering to the provided instructions and maintaining character consistency.
`
