import com.squareup.moshi.Moshi
import com.squareup.moshi.kotlin.reflect.KotlinJsonAdapterFactory
import org.openapitools.client.apis.GameApi
import org.openapitools.client.infrastructure.ApiClient
import org.openapitools.client.models.GameCreateRequest
import org.openapitools.client.models.GameInput
import org.openapitools.client.models.GameListInput
import org.openapitools.client.models.GameListRequest

class Message(val body: String, val headers: Map<String, String>, val secret: String)

fun main() {
    ApiClient.accessToken = System.getenv("GATEWAY_KEY")
    val games = GameApi(System.getenv("GATEWAY_URL"), patientClient())
    val title = System.getenv("TITLE")
    repeat(3) { games.gameCreate(GameCreateRequest(GameInput(title))) }

    val found = records { cursor ->
        val input = GameListInput(limit = 2, page = 1, cursor = cursor, search = title)
        val page = games.gameList(GameListRequest(input)).result.data.json
        Pair(page.items, page.nextCursor)
    }
    for (game in found) println(game.title)

    val moshi = Moshi.Builder().addLast(KotlinJsonAdapterFactory()).build()
    val message = moshi.adapter(Message::class.java).fromJson(System.getenv("MESSAGE"))!!
    unwrapWebhook(message.body, message.headers, message.secret)
    println("webhook.test")
    val old = message.headers + ("Webhook-Timestamp" to "1")
    for ((text, sent) in listOf("${message.body} " to message.headers, message.body to old, message.body to mapOf())) {
        try {
            unwrapWebhook(text, sent, message.secret)
        } catch (error: IllegalArgumentException) {
            println("refused")
        }
    }
}
